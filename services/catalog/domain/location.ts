import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'

/** Project of directories outside of any repository that has commits. */
export const GLOBAL_PROJECT = 'global'

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
    one.projectId === other.projectId &&
    one.projectDirectory === other.projectDirectory
  )
}
