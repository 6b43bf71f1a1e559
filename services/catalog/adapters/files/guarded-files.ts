import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import { levelsOf } from '../configuration/find-documents.ts'
import { findAgentFiles } from '../definitions/agent-files.ts'
import { findSkillFiles } from '../definitions/skill-files.ts'
import { findRepository } from '../locations/git-repository.ts'
import { realPathOf } from './confinement.ts'
import { isInside, isOutOfDescriptors } from './paths.ts'

/** Folders that contain agents, skills and plugins. */
const GUARDED_FOLDERS = ['.opencode', '.agents', '.claude']
const GUARDED_NAMES = new Set(['.git', ...GUARDED_FOLDERS])
const GUARDED_FILES = new Set(['opencode.json', 'opencode.jsonc'])

/**
 * Knows which files determine what agents may do, or what a program does that a person runs later: anything in
 * `.opencode`, `.agents`, `.claude` and `.git`, wherever they are; any other git directory; `opencode.json` and
 * `opencode.jsonc`; the user's configuration directory; modules of plugins, wherever they are; and any file that links
 * or git's own pointers turn into one of these. That includes places where agents, skills and plugins are looked for
 * but do not exist yet.
 */
export class GuardedFiles {
  readonly #configDirectory: string
  readonly #home: string
  readonly #modules: (location: Location) => Promise<readonly string[]>

  /**
   * The user's configuration and home directories, absolute, and a function that returns where a location's plugins
   * are, and were loaded from.
   */
  constructor(configDirectory: string, home: string, modules: (location: Location) => Promise<readonly string[]>) {
    this.#configDirectory = configDirectory
    this.#home = home
    this.#modules = modules
  }

  /** Whether a file (a real path, which need not exist yet) is guarded, for somebody who works in a location. */
  async has(location: Location, real: string): Promise<boolean> {
    const names = foldNames(real).split('/')
    if (names.some((name) => GUARDED_NAMES.has(name)) || GUARDED_FILES.has(names.at(-1) ?? '')) return true
    if (await isInGitDirectory(real)) return true
    const places = await Promise.all((await this.#places(location)).map((place) => realPathOf(place)))
    return places.some((place) => isInside(foldNames(place), foldNames(real)))
  }

  async #places(location: Location): Promise<string[]> {
    const repository = await findRepository(location.directory)
    const agents = await findAgentFiles(this.#configDirectory, location)
    const skills = await findSkillFiles(this.#configDirectory, this.#home, location)
    const roots = [this.#home, ...levelsOf(location)]
    return [
      ...agents.places,
      ...skills.places,
      ...roots.flatMap((root) => GUARDED_FOLDERS.map((name) => join(root, name))),
      ...(await this.#modules(location)),
      // A pointer whose target does not exist yet makes no repository yet.
      join(location.projectDirectory, '.git'),
      ...(repository === undefined ? [] : [repository.gitDirectory, repository.commonDirectory]),
    ]
  }
}

/**
 * Whether a file is in a directory that git takes for a repository, whatever its name: a bare one, or one that a
 * pointer elsewhere names (`git init --separate-git-dir`).
 */
async function isInGitDirectory(real: string): Promise<boolean> {
  const levels = [dirname(real)]
  for (let up = dirname(levels[0] ?? real); up !== levels.at(-1); up = dirname(up)) levels.push(up)
  return (await Promise.all(levels.map(isGitDirectory))).includes(true)
}

/** Whether git would take it for a repository (gitrepository-layout(5)), or for the directory of a worktree. */
async function isGitDirectory(directory: string): Promise<boolean> {
  const has = (name: string): Promise<boolean> =>
    lstat(join(directory, name)).then(
      () => true,
      (error: unknown) => {
        if (isOutOfDescriptors(error)) throw error
        return false
      },
    )
  return (await has('HEAD')) && ((await has('objects')) || (await has('commondir')))
}

// Normalizes names as the most lenient file system does: without regard to case, to Unicode forms, to invisible
// characters, and to trailing dots and spaces.
function foldNames(path: string): string {
  const fold = (name: string): string => name.replace(/\p{Default_Ignorable_Code_Point}/gu, '').replace(/[. ]+$/, '')
  return path.normalize('NFKC').toLowerCase().split(/[/\\]/).map(fold).join('/')
}
