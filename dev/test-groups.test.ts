import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { groupTests } from './test-groups.ts'

/** The names of the groups, in Node's order, with the test files that each imports. */
function group(files: readonly string[] | Readonly<Record<string, string>>): [string, string[]][] {
  const folder = mkdtempSync(join(tmpdir(), 'portico-groups-'))
  const texts = Array.isArray(files) ? files.map((file) => [file, ''] as const) : Object.entries(files)
  try {
    for (const [path, text] of texts) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const paths = groupTests(folder, '**/*.test.ts', join(folder, 'out'))
    assert.deepEqual(paths.toSorted(), paths)
    return paths.map((path) => {
      const imports = [...readFileSync(path, 'utf8').matchAll(/^import "([^"]+)"$/gm)]
      return [basename(path), imports.map(([, url = '']) => fileURLToPath(url).slice(folder.length + 1))]
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('each test file is in one group of its part of the product, or says why it has a process of its own; those are distributed among the groups', () => {
  const files = {
    'gateway/a.test.ts': '',
    'bench/b.test.ts': '',
    'services/session/run/c.test.ts': '// what it says: A process of its own: no',
    'services/session/d.test.ts': 'import "node:test"\n// A process of its own: it measures memory.\n',
    'services/shared/e.test.ts': '',
    'test/e2e/f.test.ts': '',
    'dev/g.test.ts': '',
    'dev/not-a-test.ts': '',
  }
  assert.deepEqual(group(files), [
    ['001-rest.test.mjs', ['bench/b.test.ts', 'gateway/a.test.ts']],
    ['002-dev-g.test.mjs', ['dev/g.test.ts']],
    ['003-services-session.test.mjs', ['services/session/run/c.test.ts']],
    ['004-services-session-d.test.mjs', ['services/session/d.test.ts']],
    ['005-services-shared.test.mjs', ['services/shared/e.test.ts']],
    ['006-test-e2e-f.test.mjs', ['test/e2e/f.test.ts']],
  ])
})

test('begins with the tests that take longest', () => {
  const many = Array.from({ length: 25 }, (_, i) => `services/catalog/${i}.test.ts`)
  const names = group([...many, 'bench/a.test.ts', 'test/e2e/kill.test.ts', 'test/e2e/mixed.test.ts']).map(
    ([name]) => name,
  )
  assert.deepEqual(names, [
    '001-services-catalog-1.test.mjs',
    '002-services-catalog-2.test.mjs',
    '003-test-e2e-mixed.test.mjs',
    '004-test-e2e-kill.test.mjs',
    '005-rest.test.mjs',
  ])
})

test('a part with many files has several groups, and neighbours are separated', () => {
  const files = Array.from({ length: 50 }, (_, i) => `test/http/${String(i).padStart(2, '0')}.test.ts`)
  const groups = group(files)
  assert.deepEqual(
    groups.map(([name, members]) => [name, members.length]),
    [
      ['001-test-http-1.test.mjs', 17],
      ['002-test-http-2.test.mjs', 17],
      ['003-test-http-3.test.mjs', 16],
    ],
  )
  assert.deepEqual(groups.flatMap(([, members]) => members).sort(), files)
  assert.deepEqual(groups[0]?.[1].slice(0, 2), ['test/http/00.test.ts', 'test/http/03.test.ts'])
})
