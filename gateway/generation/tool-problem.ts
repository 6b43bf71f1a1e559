/**
 * Most tools of a list, and most members of the parameters of all of them together, as many as one free-form object may
 * have: to check more would keep every other request waiting.
 */
export const MAX_CHECKED = 50_000

/** Lists are counted before they are looked at. */
export function listProblem(value: unknown): string | undefined {
  return Array.isArray(value) && value.length > MAX_CHECKED ? `has more than ${MAX_CHECKED} items` : undefined
}

/** The problem of a tool that nobody runs here. */
export function toolProblem(type: string): string {
  const short = type.slice(0, 64)
  return type.startsWith('openrouter:')
    ? `the server tool "${short}" is not available here`
    : `tools of the type "${short}" are not supported`
}
