// Refuses the words that docs/glossary.md replaces, in comments, names, texts and documents. Usage: lint-words.ts [PATH
// …]
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A refused word or phrase, and its replacement. */
export interface Refused {
  readonly pattern: RegExp
  readonly instead: string
}

/** Generated files, and quotations. */
const EXEMPT =
  /^(gen\/|test\/fixtures\/|docs\/glossary\.md|docs\/openapi\.json|package-lock\.json|dev\/lint-words\.test\.ts)/
const READ = /\.(ts|mjs|proto|md|json|ya?ml|pl|py)$/

/** Reads the third column of the tables in the glossary. */
export function refusedWords(glossary: string): Refused[] {
  return glossary
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .flatMap(([, instead = '', , refused = '']) =>
      [...refused.matchAll(/`([^`]+)`/g)].map(([, words = '']) => ({ instead, pattern: patternOf(words) })),
    )
}

/** Finds words in prose, in `snake_case` and in `camelCase`. Lower-case letters also match capitals. */
function patternOf(words: string): RegExp {
  const parts = words.split(/[ -]/)
  const first = /^[A-Z]/.test(words)
    ? parts
    : parts.map((part) => `[${part[0]}${part[0]?.toUpperCase()}]${part.slice(1)}`)
  return new RegExp(
    `(?<![a-zA-Z])${first.join('[ _-]?(?:\\n[ */#]*)?')}(?![a-z])|(?<=[a-z])${camel(parts)}(?![a-z])`,
    'g',
  )
}

function camel(parts: readonly string[]): string {
  return parts.map((part) => `${part[0]?.toUpperCase()}${part.slice(1)}`).join('')
}

/** Refused words in a text, as lines for people. */
export function findRefused(path: string, text: string, refused: readonly Refused[]): string[] {
  return refused.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map(({ 0: words, index }) => {
      const line = text.slice(0, index).split('\n').length
      return `${path}:${line}: "${words.replace(/\s+/g, ' ')}": write ${instead}`
    }),
  )
}

if (import.meta.main) {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)))
  const refused = refusedWords(readFileSync('docs/glossary.md', 'utf8'))
  const paths = process.argv.slice(2)
  const files = execFileSync('git', ['ls-files', '--', ...paths], { encoding: 'utf8' }).split('\n')
  const problems = files
    .filter((path) => READ.test(path) && !EXEMPT.test(path))
    .flatMap((path) => findRefused(path, readFileSync(path, 'utf8'), refused))
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) process.exitCode = 1
}
