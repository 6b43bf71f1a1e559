import { join } from 'node:path'
import { levelsOf } from '../configuration/find-documents.ts'
import { type ExistingFile, findFile } from '../files/find-file.ts'
import { readBounded } from '../files/read-bounded.ts'
import type { Definition } from './file-source.ts'

const FILE = 'AGENTS.md'
const MAX_BYTES = 64 << 10
/** Maximum number of characters of all instructions in one location. */
const MAX_LENGTH = 256 << 10

interface Text {
  readonly path: string
  readonly text: string
}

/**
 * Instructions for every agent are in files `AGENTS.md` of at most 64 KiB: the user's, in the global configuration
 * directory; the project's, from its root down to the location. A link out of the project is not followed. Together
 * they have at most 262,144 characters; the nearest ones take precedence.
 */
export function instructionFiles(configDirectory: string): Definition<ExistingFile, Text, readonly string[]> {
  return {
    name: 'A file of instructions',
    async find(location) {
      const own = join(configDirectory, FILE)
      const local = levelsOf(location).map((level) => join(level, FILE))
      const directory = location.projectDirectory
      const files = await Promise.all([findFile(own), ...local.map((path) => findFile(path, directory))])
      return { files: files.filter((file) => file !== undefined), places: [own, ...local], folders: [] }
    },
    parse: async ({ path }) => ({ path, text: (await readBounded(path, MAX_BYTES)).toString().trim() }),
    merge: mergeTexts,
  }
}

function mergeTexts(texts: readonly Text[], onProblem: (problem: string) => void): readonly string[] {
  const kept: string[] = []
  let room = MAX_LENGTH
  for (const { path, text } of texts.toReversed()) {
    if (text === '') continue
    room -= text.length
    if (room >= 0) kept.unshift(`Instructions from ${path}:\n\n${text}`)
    else onProblem(`with ${path} the instructions of a location have more than ${MAX_LENGTH} characters`)
  }
  return kept
}
