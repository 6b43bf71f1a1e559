import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { scratchDirectory } from '#test/support/processes.ts'

/** Preloaded first: counts what Node itself resolves. */
const COUNT = `import { registerHooks } from 'node:module'
globalThis.asked = []
registerHooks({ resolve(name, context, next) { globalThis.asked.push(name); return next(name, context) } })`

const FILES = {
  'package.json': '{"type":"module","imports":{"#own/*":"./own/*"}}',
  'count.mjs': COUNT,
  'node_modules/dual/package.json':
    '{"main":"./cjs/index.js","exports":{"import":"./esm/index.js","require":"./cjs/index.js"}}',
  'node_modules/dual/esm/package.json': '{"type":"module"}',
  'node_modules/dual/esm/index.js': `export * from './one.js'; export * from './two.js'; export { default as other } from '../cjs/index.js'; export { deep } from './deep/deep.js'`,
  'node_modules/dual/esm/one.js': `export { one } from 'other'`,
  'node_modules/dual/esm/two.js': `import { one } from 'other'; import { two as nested } from '../sub/two.js'; export const two = one + nested`,
  'node_modules/dual/sub/package.json': '{"type":"module"}',
  'node_modules/dual/sub/two.js': `export { two } from 'other'`,
  'node_modules/dual/sub/node_modules/other/index.mjs': 'export const two = 1',
  'node_modules/dual/sub/node_modules/other/package.json': '{"exports":"./index.mjs"}',
  'node_modules/other/index.mjs': 'export const one = 1',
  'node_modules/other/package.json': '{"exports":"./index.mjs"}',
  'node_modules/dual/esm/deep/package.json': '{"type":"commonjs"}',
  'node_modules/dual/esm/deep/deep.js': 'exports.deep = typeof require',
  'node_modules/dual/cjs/index.js': `module.exports = { of: 'cjs', near: require('./near') }`,
  'node_modules/dual/cjs/near.js': "module.exports = 'near'",
  'own/a.ts': `import { one, other } from 'dual'\nexport const a: unknown = [one, other]`,
  'own/b.ts': `import { two, deep } from 'dual'\nimport { a } from './a.ts'\nexport const b: unknown = [a, two, deep]`,
  'own/c.ts': `import { b } from '#own/b.ts'\nexport { a } from './a.ts'\nimport { d } from '#own/d.ts'\nexport const c: unknown = [b, d]`,
  'own/d.ts': 'export const d: number = 4',
  'main.ts': `import { createRequire } from 'node:module'
import { b } from '#own/b.ts'
import { c } from './own/c.ts'
const missing = await import('./own/none.ts' as string).catch(({ message }) => message)
process.stdout.write(JSON.stringify([c, b, createRequire(import.meta.url)('dual'), missing, globalThis.asked]))`,
}

test('a folder and a name are resolved once, and the way Node does', () => {
  using folder = scratchDirectory()
  for (const [path, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true })
    writeFileSync(join(folder.path, path), content)
  }
  mkdirSync(join(folder.path, 'scripts'))
  cpSync(join(import.meta.dirname, 'resolve-once.mjs'), join(folder.path, 'scripts/resolve-once.mjs'))
  const words = ['--import', './count.mjs', '--import', './scripts/resolve-once.mjs', 'main.ts']
  const { stdout, stderr } = spawnSync(process.execPath, words, { cwd: folder.path, env: {}, encoding: 'utf8' })
  assert.equal(stderr, '')
  const cjs = { of: 'cjs', near: 'near' }
  const b = [[1, cjs], 2, 'function']
  const [c, direct, required, missing, asked] = JSON.parse(stdout)
  assert.deepEqual([c, direct, required], [[b, 4], b, cjs])
  assert.match(missing, /ENOENT.*own\/none\.ts/)
  const times = (name: string): number => asked.filter((one: string) => one === name).length
  const names = ['dual', 'other', '#own/b.ts', '#own/d.ts', './own/c.ts', './a.ts', './one.js', './two.js']
  assert.deepEqual(names.map(times), [2, 2, 1, 0, 0, 1, 1, 0])
})
