/** What a call touches, of one kind. */
interface Access {
  readonly action: string
  readonly resources: readonly string[]
  readonly guardedPath?: string
}

/** Whether two lists of accesses are the same; the order of neither accesses nor resources matters. */
export function sameAccesses(left: readonly Access[], right: readonly Access[]): boolean {
  return canonical(left) === canonical(right)
}

/**
 * The patterns that an `always` answer saves: the resources themselves, or the path of a guarded file, which is the same
 * in no other directory. One that contains a wildcard would match more than this call (a rule cannot quote it), so then
 * nothing is saved.
 */
export function savePatternsOf(accesses: readonly Access[]): string[] {
  const resources = [...new Set(accesses.flatMap(({ resources, guardedPath }) => guardedPath ?? resources))]
  return resources.some((resource) => /[*?]/.test(resource)) ? [] : resources
}

function canonical(accesses: readonly Access[]): string {
  const parts = accesses.map(({ action, resources, guardedPath = '' }) => [
    action,
    guardedPath,
    ...[...resources].sort(),
  ])
  return JSON.stringify(parts.sort())
}
