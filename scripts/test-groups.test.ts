import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { groupTests } from './test-groups.ts'

/** The names of the groups with those of the files that they import, and the files that stay by themselves. */
function group(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-groups-'))
  const out = join(folder, 'out')
  try {
    for (const [path, text] of Object.entries({ ...files, 'out/kept': '' })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    return groupTests(folder, '**/*.test.ts', out).map((path) => {
      if (dirname(path) !== out) return path
      const imports = [...readFileSync(path, 'utf8').matchAll(/^import "([^"]+)"$/gm)]
      return [basename(path), imports.map(([, url = '']) => fileURLToPath(url).slice(folder.length + 1))]
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('each test file is in one group of its part of the product, or says why it has a process of its own; these are dealt out among those', () => {
  const files = {
    'gateway/a.test.ts': '',
    'bench/b.test.ts': '',
    'services/session/run/c.test.ts': '// what it says: A process of its own: no',
    'services/session/d.test.ts': 'import "node:test"\n// A process of its own: it measures memory.\n',
    'services/catalog/e.test.ts': '',
    'test/e2e/f.test.ts': '',
    'scripts/g.test.ts': '',
    'scripts/not-a-test.ts': '',
  }
  assert.deepEqual(group(files), [
    ['rest-1.test.mjs', ['bench/b.test.ts', 'gateway/a.test.ts']],
    'scripts/g.test.ts',
    ['services-catalog-1.test.mjs', ['services/catalog/e.test.ts']],
    'services/session/d.test.ts',
    ['services-session-1.test.mjs', ['services/session/run/c.test.ts']],
    'test/e2e/f.test.ts',
  ])
})

test('a part with many files has several groups, and neighbours are apart', () => {
  const files = Array.from({ length: 50 }, (_, i) => `test/http/${String(i).padStart(2, '0')}.test.ts`)
  const groups = group(Object.fromEntries(files.map((file) => [file, '']))) as [string, string[]][]
  assert.deepEqual(
    groups.map(([name, members]) => [name, members.length]),
    [
      ['test-http-1.test.mjs', 17],
      ['test-http-2.test.mjs', 17],
      ['test-http-3.test.mjs', 16],
    ],
  )
  assert.deepEqual(groups.flatMap(([, members]) => members).sort(), files)
  assert.deepEqual(groups[0]?.[1].slice(0, 2), ['test/http/00.test.ts', 'test/http/03.test.ts'])
})
