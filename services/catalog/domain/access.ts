/** What a call touches, of one kind. */
interface Access {
  readonly action: string
  readonly resources: readonly string[]
}

/** Whether two lists of accesses are the same; the order of neither accesses nor resources matters. */
export function sameAccesses(left: readonly Access[], right: readonly Access[]): boolean {
  return canonical(left) === canonical(right)
}

/**
 * The patterns that an `always` answer saves: the resources themselves. One that contains a wildcard would match more
 * than this call (a rule cannot quote it), so then nothing is saved.
 */
export function savePatternsOf(accesses: readonly Access[]): string[] {
  const resources = [...new Set(accesses.flatMap((access) => access.resources))]
  return resources.some((resource) => /[*?]/.test(resource)) ? [] : resources
}

function canonical(accesses: readonly Access[]): string {
  return JSON.stringify(accesses.map(({ action, resources }) => [action, [...resources].sort()].flat()).sort())
}
