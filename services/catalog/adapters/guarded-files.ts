import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Location } from '../domain/location.ts'
import { findAgentFiles } from './agent-files.ts'
import { findRepository } from './git-repository.ts'
import { isInside } from './paths.ts'

const GUARDED_NAMES = new Set(['.git', '.opencode'])
const GUARDED_FILES = new Set(['opencode.json', 'opencode.jsonc'])

/**
 * Knows which files decide what agents may do, or what a program does that a person runs later: `.opencode` and `.git`
 * wherever they lie, `opencode.json` and `opencode.jsonc`, the user's configuration directory, and whatever links and git's
 * own pointers make of other files the same.
 */
export class GuardedFiles {
  readonly #configDirectory: string

  /** `configDirectory`: the user's configuration, absolute. */
  constructor(configDirectory: string) {
    this.#configDirectory = configDirectory
  }

  /** Whether a file (a real path, which need not exist yet) is guarded, for whoever works in a location. */
  async has(location: Location, real: string): Promise<boolean> {
    const names = folded(real).split('/')
    if (names.some((name) => GUARDED_NAMES.has(name)) || GUARDED_FILES.has(names.at(-1) ?? '')) return true
    const places = await Promise.all((await this.#places(location)).map(realOrSame))
    return places.some((place) => isInside(folded(place), folded(real)))
  }

  async #places(location: Location): Promise<string[]> {
    const levels = [location.directory]
    while (levels[0] !== undefined && levels[0] !== location.project.directory) levels.unshift(dirname(levels[0]))
    const repository = await findRepository(location.directory)
    const files = await findAgentFiles(this.#configDirectory, location)
    return [
      this.#configDirectory,
      ...levels.map((level) => join(level, '.opencode')),
      ...(repository === undefined ? [] : [repository.gitDirectory, repository.commonDirectory]),
      ...files.map(({ path }) => path),
    ]
  }
}

// As the most careless file system takes names for the same: without regard to case, to the form of a character, to
// characters that nobody sees, and to dots and spaces at the end.
function folded(path: string): string {
  const fold = (name: string): string => name.replace(/\p{Default_Ignorable_Code_Point}/gu, '').replace(/[. ]+$/, '')
  return path.normalize('NFKC').toLowerCase().split(/[/\\]/).map(fold).join('/')
}

async function realOrSame(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    return path
  }
}
