/** What a tool call needs permission for, of one kind. */
export interface ToolAccess {
  readonly action: string
  /** Paths relative to the location (`.` is the location), absolute ones outside of it, or a command. */
  readonly resources: readonly string[]
  /** Absolute real path of the file that is changed, when the rules of agents must not allow that by themselves. */
  readonly guardedPath?: string | undefined
}

/** Whether two lists of accesses are the same; the order of neither accesses nor resources matters. */
export function sameAccesses(left: readonly ToolAccess[], right: readonly ToolAccess[]): boolean {
  return canonical(left) === canonical(right)
}

/**
 * The patterns that an `always` answer saves: the resources themselves, or the path of a guarded file, which is the same
 * in no other directory. One that contains a wildcard would match more than this call (a rule cannot quote it), so then
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
