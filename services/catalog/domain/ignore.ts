import { compileGlob, GlobError } from './path-glob.ts'

/** A line of an ignore file. */
export interface IgnoreRule {
  readonly negated: boolean
  readonly directoriesOnly: boolean
  /** Takes a path relative to the directory of the ignore file. */
  readonly matches: (path: string) => boolean
}

/** The rules of one ignore file. */
export interface IgnoreFile {
  /** Directory of the file, relative to where the search began; empty there. */
  readonly base: string
  readonly rules: readonly IgnoreRule[]
}

const MAX_RULES = 1000

/** Reads the lines of an ignore file (gitignore(5)), the first 1,000; a line that cannot be understood is left out. */
export function readIgnoreFile(text: string, base: string): IgnoreFile {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'))
  return { base, rules: lines.slice(0, MAX_RULES).flatMap(readRule) }
}

/** Whether a path is ignored: the last rule that matches decides, and deeper files come later. */
export function isIgnored(files: readonly IgnoreFile[], path: string, isDirectory: boolean): boolean {
  for (const { base, rules } of files.toReversed()) {
    if (base !== '' && !path.startsWith(`${base}/`)) continue
    const relative = base === '' ? path : path.slice(base.length + 1)
    const rule = rules.findLast((each) => (isDirectory || !each.directoriesOnly) && each.matches(relative))
    if (rule !== undefined) return !rule.negated
  }
  return false
}

function readRule(line: string): IgnoreRule[] {
  const negated = line.startsWith('!')
  const text = line.slice(negated ? 1 : 0).replace(/(?<!\\)\s+$/, '')
  const pattern = text.replace(/\/$/, '')
  // Only a slash at the beginning or within ties a pattern to the file's directory.
  const glob = pattern.includes('/') ? pattern.replace(/^\//, '') : `**/${pattern}`
  try {
    return [{ negated, directoriesOnly: text.endsWith('/'), matches: compileGlob(glob) }]
  } catch (error) {
    if (error instanceof GlobError) return []
    throw error
  }
}
