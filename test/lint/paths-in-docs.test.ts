import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const FILES = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '')
const FOLDERS = new Set(FILES.flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(0, i).join('/'))))
/** What the tree has, from its root or from any folder of it. */
const ENDS = new Set(
  [...FILES, ...FOLDERS].flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(i).join('/'))),
)

/** A path below a folder that only the tree has, or a source file by its name. */
const PATH =
  /`((?:services|gateway|shared|domain|run|rpc|ports|adapters|test|scripts|bench|proto|docs|deploy)\/[\w./-]+|[\w-]+\.(?:ts|mjs|proto))`/g

/** Paths in backticks that are not there, with their lines; `*` and `x` stand for any. */
function missingPaths(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, i) =>
      [...line.matchAll(PATH)].map(([, path = '']) => ({ path: path.replace(/\/$/, ''), line: i + 1 })),
    )
    .filter(({ path }) => !path.includes('/x/') && !ENDS.has(path))
    .map(({ path, line }) => `${line}: ${path}`)
}

/** The design's pictures, which the ADR compares with the tree. */
const PICTURED = new Set(['8: auth.ts'])

test('each path that a document names is there', () => {
  const documents = FILES.filter((path) => path.endsWith('.md') && !path.startsWith('test/fixtures/'))
  assert.ok(documents.length > 30)
  for (const path of documents) {
    const missing = missingPaths(readFileSync(path, 'utf8')).filter((each) => !PICTURED.has(each))
    assert.deepEqual(missing, [], path)
  }
})

test('a path that is not there is found', () => {
  assert.deepEqual(missingPaths('See `gateway/operation.ts`, `domain/` and\n`run/none.ts`, `nothing.ts`.'), [
    '2: run/none.ts',
    '2: nothing.ts',
  ])
})
