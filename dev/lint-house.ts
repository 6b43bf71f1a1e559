// Refuses what Biome has no rule for, or counts differently: comments with lines too long, casts by way of `unknown`,
// adapters that inherit, object literals that are spread, and names that are participles. Reports long files. Usage:
// lint-house.ts
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A product file with more lines is reported, not refused: a file is split where it reads better split. */
const LONG_LINES = 300
/** Maximum number of characters of a line of a comment; Biome formats only code. */
const MOST_CHARACTERS = 120

/** A file that is long enough to ask why, as a line for people. Blank lines and comments count, since they are read, too. */
export function longFiles(path: string, text: string): string[] {
  if (/^test\/|\.test\.ts$|\.proto$/.test(path)) return []
  const lines = text.split('\n').length - 1
  return lines > LONG_LINES ? [`${path}: ${lines} lines; above ${LONG_LINES}, ask why`] : []
}

/** Lines of comments with more characters than that, as lines for people; an address alone cannot be wrapped. */
export function wideComments(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const fits = line.length <= MOST_CHARACTERS || !/^\s*(\/\/|\/\*|\*)/.test(line) || /https?:\S+$/.test(line)
    return fits ? [] : [`${path}:${index + 1}: ${line.length} characters, at most ${MOST_CHARACTERS}`]
  })
}

/**
 * Casts by way of `unknown`, as lines for people. They are allowed in adapters, whose rows have no types, and in tests,
 * to pass what the types forbid.
 */
export function blindCasts(path: string, text: string): string[] {
  if (!path.endsWith('.ts') || /(^|\/)adapters\/|^(test|bench)\/|\.test\.ts$/.test(path)) return []
  return [...text.matchAll(/\bas unknown as\b/g)].map(
    ({ index }) => `${path}:${text.slice(0, index).split('\n').length}: a cast by way of unknown`,
  )
}

/**
 * Classes of adapters that inherit from another class, as lines for people: adapters are composed. Errors and a package's
 * own extension points (`Map`) are no part of that.
 */
export function inheritingClasses(path: string, text: string): string[] {
  if (!/^services\/\w+\/adapters\/.*\.ts$/.test(path) || path.endsWith('.test.ts')) return []
  return [...text.matchAll(/\bclass [^{]*? extends (?!\w*Error\b|Map\b)(?=\w+(?:<[^{]*>)? (?:implements|\{))/g)].map(
    ({ index }) => `${path}:${text.slice(0, index).split('\n').length}: a class of an adapter that inherits`,
  )
}

/** Object literals that are spread into another one, as lines for people: members belong on lines of their own. */
export function spreadLiterals(path: string, text: string): string[] {
  if (!path.endsWith('.ts') || path.endsWith('.test.ts')) return []
  return [...text.matchAll(/\.\.\.\(?\{/g)].map(
    ({ index }) =>
      `${path}:${text.slice(0, index).split('\n').length}: an object literal that is spread into another one`,
  )
}

/** Participles that are declared as names of code, as lines for people: names are nouns and verbs. */
export function participles(path: string, text: string): string[] {
  if (!path.endsWith('.ts') || /^(test|bench)\/|\.test\.ts$/.test(path)) return []
  return [...text.matchAll(/\b(?:const|let|function|class|interface|type) (found|given|known|said)\b/gi)].map(
    ({ 1: name, index }) => `${path}:${text.slice(0, index).split('\n').length}: "${name}" is no noun or verb`,
  )
}

if (import.meta.main) {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)))
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'])
  const gone = new Set(execFileSync('git', ['ls-files', '--deleted'], { encoding: 'utf8' }).split('\n'))
  const files = listed
    .toString()
    .split('\n')
    .filter((path) => path !== '' && !path.startsWith('gen/') && !gone.has(path))
  const source = files.filter((path) => /\.(ts|mjs|proto)$/.test(path) && path !== 'dev/lint-house.ts')
  const inSource = (path: string): string[] => {
    const text = readFileSync(path, 'utf8')
    return [
      ...wideComments(path, text),
      ...blindCasts(path, text),
      ...inheritingClasses(path, text),
      ...spreadLiterals(path, text),
      ...participles(path, text),
    ]
  }
  const problems = source.flatMap(inSource)
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  for (const path of source)
    for (const report of longFiles(path, readFileSync(path, 'utf8'))) process.stdout.write(`${report}\n`)
  if (problems.length > 0) process.exitCode = 1
}
