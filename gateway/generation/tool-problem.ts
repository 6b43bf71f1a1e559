/** The problem of a tool that nobody runs here. */
export function toolProblem(type: string): string {
  const short = type.slice(0, 64)
  return type.startsWith('openrouter:')
    ? `the server tool "${short}" is not available here`
    : `tools of the type "${short}" are not supported`
}
