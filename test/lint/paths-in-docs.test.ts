import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const FILES = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '')
const FOLDERS = new Set(FILES.flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(0, i).join('/'))))
/** What the tree contains, from its root or from any folder of it. */
const ENDS = new Set(
  [...FILES, ...FOLDERS].flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(i).join('/'))),
)

/** A path below a folder that only the tree has, or a source file by its name. */
const PATH =
  /`((?:services|gateway|shared|domain|run|rpc|ports|adapters|test|cli|dev|bin|bench|proto|docs|deploy)\/[\w./-]+|[\w-]+\.(?:ts|mjs|proto))`/g

/** Paths in backticks that do not exist, with their lines; `*` and `x` stand for any. */
function missingPaths(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, i) =>
      [...line.matchAll(PATH)].map(([, path = '']) => ({ path: path.replace(/\/$/, ''), line: i + 1 })),
    )
    .filter(({ path }) => !path.includes('/x/') && !ENDS.has(path))
    .map(({ path, line }) => `${line}: ${path}`)
}

/** A name of the code and the file that a document says it is in: `` `name` in `path` `` or `` `name` (`path`) ``. */
const PLACED =
  /`(\w+)(?:\([^`]*\))?`(?:(?:,| and) `(\w+)(?:\([^`]*\))?`)? (?:(?:in|of) |\()`([\w./-]+\.(?:ts|mjs|proto))`/g

/** Names that do not occur in the file that a text gives for them. The names of RPCs are those of functions there. */
function misplacedNames(text: string, filesAt: (path: string) => readonly string[]): string[] {
  return [...text.replaceAll(/\s+/g, ' ').matchAll(PLACED)].flatMap(([, one = '', other, path = '']) =>
    [one, ...(other === undefined ? [] : [other])]
      .filter((name) => !filesAt(path).some((file) => new RegExp(`\\b${name}\\b`, 'i').test(file)))
      .map((name) => `${name} in ${path}`),
  )
}

test('each path that a document names is there', () => {
  const documents = FILES.filter((path) => path.endsWith('.md') && !path.startsWith('test/fixtures/'))
  assert.ok(documents.length > 30)
  for (const path of documents) {
    assert.deepEqual(missingPaths(readFileSync(path, 'utf8')), [], path)
  }
})

test('each name that a document says is in a file is in it', () => {
  const contents = (path: string) =>
    FILES.filter((file) => file === path || file.endsWith(`/${path}`)).map((file) => readFileSync(file, 'utf8'))
  const texts = FILES.filter((path) => path.endsWith('.md') && !path.startsWith('test/fixtures/'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
  assert.ok([...texts.replaceAll(/\s+/g, ' ').matchAll(PLACED)].length > 10)
  assert.deepEqual(misplacedNames(texts, contents), [])
})

test('a name that is not where a text says is found', () => {
  const filesAt = (path: string) => (path === 'a.ts' ? ['export function one() {}'] : [])
  const text = 'See `one` in `a.ts`, `one` and `two` in `a.ts`, `one`\n(`b.ts`), `Two()` of `a.ts`.'
  assert.deepEqual(misplacedNames(text, filesAt), ['two in a.ts', 'one in b.ts', 'Two in a.ts'])
})

test('a path that is not there is found', () => {
  assert.deepEqual(missingPaths('See `gateway/operation.ts`, `domain/` and\n`run/none.ts`, `nothing.ts`.'), [
    '2: run/none.ts',
    '2: nothing.ts',
  ])
})
