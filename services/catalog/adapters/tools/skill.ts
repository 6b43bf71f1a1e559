import { realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import { accessTo } from '#services/catalog/domain/access.ts'
import { locate } from '../files/confinement.ts'
import { readTool } from './read.ts'
import { FILE_TOOL_TIMEOUT_MS, InputError, objectSchema, pathSchema, type Tool, textOf } from './tool.ts'

interface Input {
  readonly id: string
  readonly path?: string
  readonly offset?: number
}

/** How many skills are listed if a call names one that does not exist. */
const MAX_NAMED = 20

/**
 * Shows one of these skills, or a file that belongs to it: the user's own skills are outside of the project, where
 * `read` does not reach. A file also requires the permission to read it.
 */
export function skillTool(skills: readonly Skill[]): Tool<Input> {
  return {
    name: 'skill',
    description:
      'Reads a skill: how a kind of work is done here. The system text lists the skills. Other files of a skill, such as ' +
      'a script or a template that its text mentions, are in the same folder: give their path to read them.',
    inputSchema: objectSchema(
      {
        id: { type: 'string', minLength: 1, maxLength: 4096, description: 'Id of the skill, as it is listed.' },
        path: pathSchema('Path of a file of the skill, relative to its folder. Default: the skill itself.'),
        offset: {
          type: 'integer',
          minimum: 1,
          description: 'With path, the first line to read, from 1 on. Default 1.',
        },
      },
      ['id'],
    ),
    async plan(directory, { id, path, offset = 1 }) {
      const skill = skills.find((candidate) => candidate.skillId === id)
      if (skill === undefined) {
        const ids = skills.slice(0, MAX_NAMED).map((candidate) => candidate.skillId)
        throw new InputError(`there is no skill ${id}, but ${ids.join(', ')}${skills.length > MAX_NAMED ? ' …' : ''}`)
      }
      const folder = dirname(skill.path)
      const access = accessTo('skill', [id])
      if (path === undefined) {
        const note = `(Its files are in ${folder}; read one by its path.)`
        const run = () => Promise.resolve(textOf([skill.text, note].filter(Boolean).join('\n\n'), { id, folder }))
        return { accesses: [access], timeoutMs: FILE_TOOL_TIMEOUT_MS, run }
      }
      const real = await realFolder(folder)
      const reading = await readTool.plan(real, { path, offset })
      const { resources } = await locate(directory, (await locate(real, path)).real)
      return { ...reading, accesses: [access, accessTo('read', resources)] }
    },
  }
}

// The skill may be gone by now; reading it reports that.
function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder)
}
