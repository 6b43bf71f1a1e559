/** Project of directories outside of any repository that has commits. */
export const GLOBAL_PROJECT = 'global'

/** A source repository, or the project `global`. */
export interface Project {
  /** Root commit, or `global`. */
  readonly id: string
  /** Root of the worktree; for `global`, the location's directory. */
  readonly directory: string
  /** Main checkout; differs from `directory` in a linked worktree. */
  readonly canonicalDirectory: string
}

/** A project directory, with symbolic links resolved. */
export interface Location {
  readonly directory: string
  readonly project: Project
  /** Path relative to the project's directory, with `/`; empty at its root. */
  readonly subpath: string
}

/** Picks the project id from the root commits of a repository: the first in order; undefined if there is none. */
export function projectIdOf(rootCommits: string): string | undefined {
  return rootCommits
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(line))
    .sort()[0]
}

/** Whether two locations of one directory belong to the same project, at the same place in it. */
export function isSamePlace(one: Location, other: Location): boolean {
  return (
    one.subpath === other.subpath &&
    one.project.id === other.project.id &&
    one.project.directory === other.project.directory
  )
}
