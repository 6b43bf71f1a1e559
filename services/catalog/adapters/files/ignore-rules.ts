import ignore, { type Ignore } from 'ignore'

const MAX_RULES = 1000
// Each multiplies the work by the path's depth, and a line must not keep the process busy, whoever wrote it.
const MAX_SPANS = 3
const MAX_LENGTH = 1_024

/** What the ignore files (gitignore(5)) from a location down to one of its directories exclude. Immutable. */
export class IgnoreRules {
  readonly #rules: Ignore | undefined

  constructor(rules?: Ignore) {
    this.#rules = rules
  }

  /**
   * Adds, after these rules, the first 1,000 of an ignore file in a directory (`base`, relative to the location; empty
   * for the location itself). A line with more than three `**`, or 1,024 characters, is left out.
   */
  with(text: string, base: string): IgnoreRules {
    const lines = text.split(/\r?\n/).map(withoutTrailingSpaces).filter(isRule).slice(0, MAX_RULES)
    if (lines.length === 0) return this
    const own = lines.map((pattern) => ({ pattern: base === '' ? pattern : below(base, pattern) }))
    return new IgnoreRules(
      ignore({ ignoreCase: false }).add([...(this.#rules === undefined ? [] : [this.#rules]), ...own]),
    )
  }

  /** Whether a path, relative to the location, is excluded. */
  exclude(path: string, isDirectory: boolean): boolean {
    return this.#rules?.ignores(isDirectory ? `${path}/` : path) ?? false
  }
}

function isRule(line: string): boolean {
  const isBlank = line === '' || line.startsWith('#')
  return !isBlank && line.length <= MAX_LENGTH && line.split('**').length <= MAX_SPANS + 1
}

/** A line of an ignore file in a directory, rewritten for the location's. */
function below(base: string, line: string): string {
  const negation = line.startsWith('!') ? '!' : ''
  const pattern = line.slice(negation.length)
  const directory = base.replace(/[\\*?[\]!# ]/g, '\\$&')
  // Only a slash at the beginning or within ties a pattern to the file's own directory.
  const tied = pattern.replace(/\/$/, '').includes('/')
  return `${negation}/${directory}/${tied ? pattern.replace(/^\//, '') : `**/${pattern}`}`
}

/**
 * Removes trailing spaces from a line, except one after a backslash. Not a regular expression, which many spaces would
 * make slow.
 */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (end > 0 && /\s/.test(line[end - 1] ?? '') && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}
