import { matches } from '#shared/permission-pattern.ts'
import type { PermissionRule } from './agent.ts'

/** Instructions for one kind of work, which a model reads when it comes to that. */
export interface Skill {
  /** Path of its folder, relative to the folder of skills it lies in, with `/`. */
  readonly id: string
  /** For people; the id where its file gives none. */
  readonly name: string
  /** When it is of use; undefined: its file says nothing. */
  readonly description: string | undefined
  readonly text: string
  /** Absolute path of its file. What else lies in that folder belongs to it. */
  readonly path: string
}

/** Characters of the list that a model is shown. */
const MAX_LIST = 16 << 10

/**
 * Which skills there are, for a model; undefined: none that it may read. What the agent's rules deny is left out, since the model
 * could only try it in vain; what they request is not.
 */
export function skillList(skills: readonly Skill[], rules: readonly PermissionRule[]): string | undefined {
  const lines = skills.filter(({ id }) => !isDenied(rules, id)).map(lineOf)
  if (lines.length === 0) return undefined
  const shown: string[] = []
  let room = MAX_LIST
  for (const line of lines) {
    room -= line.length
    if (room >= 0) shown.push(line)
  }
  const more = shown.length < lines.length ? [`(${lines.length - shown.length} more are not listed here.)`] : []
  const heading = `There are skills, which say how a kind of work is done here. Before you begin such work, read its skill with the tool "skill":`
  return [heading, ...shown, ...more].join('\n')
}

function lineOf({ id, name, description }: Skill): string {
  const said = [name === id ? '' : name, description ?? ''].filter((part) => part !== '').join(': ')
  return `- ${id}${said === '' ? '' : ` (${said.trim().replaceAll(/\s+/g, ' ')})`}`
}

function isDenied(rules: readonly PermissionRule[], id: string): boolean {
  const rule = rules.findLast(({ action, resource }) => matches(action, 'skill') && matches(resource, id))
  return rule?.effect === 'deny'
}
