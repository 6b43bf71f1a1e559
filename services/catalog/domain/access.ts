import { create } from '@bufbuild/protobuf'
import { type ToolAccess, ToolAccessSchema } from '#gen/portico/catalog/v1/catalog_pb.js'

/**
 * An access that requires permission. `resources`: paths relative to the location (`.` is the location), absolute paths
 * outside of it, or a command.
 */
export function accessTo(action: string, resources: string[]): ToolAccess {
  return create(ToolAccessSchema, { action, resources })
}

/** Whether two lists of accesses are equal, in any order of accesses and resources. */
export function sameAccesses(left: readonly ToolAccess[], right: readonly ToolAccess[]): boolean {
  return canonical(left) === canonical(right)
}

/**
 * The patterns that an `always` reply saves: the resources themselves, or the path of a guarded file, which is the same
 * from any directory. If one contains a wildcard, which rules cannot escape, it would match more than this call, so
 * nothing is saved.
 */
export function savePatternsOf(accesses: readonly ToolAccess[]): string[] {
  const resources = [...new Set(accesses.flatMap(({ resources, guardedPath }) => guardedPath ?? resources))]
  return resources.some((resource) => /[*?]/.test(resource)) ? [] : resources
}

function canonical(accesses: readonly ToolAccess[]): string {
  const parts = accesses.map(({ action, resources, guardedPath = '' }) => [
    action,
    guardedPath,
    ...[...resources].sort(),
  ])
  return JSON.stringify(parts.sort())
}
