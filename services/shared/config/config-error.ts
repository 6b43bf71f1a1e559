/** What is wrong with one variable. */
export interface ConfigProblem {
  readonly variable: string
  readonly problem: string
}

/**
 * The settings cannot be used. The message names every variable that is wrong, and contains no secret. `warnings`,
 * which would not prevent a start, follow under a heading of their own.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly ConfigProblem[]

  constructor(
    problems: readonly ConfigProblem[],
    { warnings = [], ...options }: ErrorOptions & { readonly warnings?: readonly ConfigProblem[] } = {},
  ) {
    const lines = (all: readonly ConfigProblem[]) => all.map(({ variable, problem }) => `\n  ${variable}: ${problem}`)
    const also = warnings.length === 0 ? [] : ['\nWarnings:', ...lines(warnings)]
    super(['The settings cannot be used:', ...lines(problems), ...also].join(''), options)
    this.problems = problems
  }
}
