import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  blindCasts,
  fullFolders,
  inheritingClasses,
  lastingFunctions,
  longFiles,
  spreadLiterals,
  wideComments,
} from './lint-house.ts'

test('a folder holds at most 20 files, those of subfolders and tests not counted', () => {
  const files = Array.from({ length: 20 }, (_, i) => `gateway/file${i}.ts`)
  assert.deepEqual(fullFolders([...files, 'gateway/a.test.ts', 'gateway/http/a.ts', 'test/http/a.ts']), [])
  assert.deepEqual(fullFolders([...files, 'gateway/one-more.ts']), ['gateway: 21 files, at most 20'])
})

test('lines are counted as `wc -l` does: 200 of the product, 300 of scripts and benches', () => {
  const lines = (count: number): string => '// A comment\n\n'.repeat(count / 2)
  assert.deepEqual(longFiles('gateway/a.ts', lines(200)), [])
  assert.deepEqual(longFiles('gateway/a.ts', lines(202)), ['gateway/a.ts: 202 lines, at most 200'])
  assert.deepEqual(longFiles('main.ts', lines(202)), ['main.ts: 202 lines, at most 200'])
  assert.deepEqual(longFiles('bench/a.ts', lines(300)), [])
  assert.deepEqual(longFiles('scripts/a.ts', lines(302)), ['scripts/a.ts: 302 lines, at most 300'])
  for (const path of ['test/http/a.ts', 'gateway/a.test.ts']) assert.deepEqual(longFiles(path, lines(400)), [])
})

test('a line of a comment has at most 120 characters, code and addresses aside', () => {
  const wide = (start: string): string => start.padEnd(121, 'a')
  for (const start of ['// ', '  /** ', '   * ']) {
    assert.deepEqual(wideComments('gateway/a.ts', `\n${wide(start)}`), ['gateway/a.ts:2: 121 characters, at most 120'])
    assert.deepEqual(wideComments('gateway/a.ts', start.padEnd(120, 'a')), [])
  }
  assert.deepEqual(wideComments('gateway/a.ts', `${wide("const a = '")}\n${wide('// https://a')}`), [])
})

test('a cast through unknown is refused outside of adapters and tests', () => {
  const text = 'const a = 1\nconst b = a as unknown as string'
  assert.deepEqual(blindCasts('services/x/domain/a.ts', text), ['services/x/domain/a.ts:2: a cast by way of unknown'])
  for (const path of ['services/x/adapters/mongo/a.ts', 'services/x/rpc/a.test.ts', 'test/support/a.ts']) {
    assert.deepEqual(blindCasts(path, text), [])
  }
})

test('a class of an adapter inherits from no other one, but for errors and maps', () => {
  const path = 'services/session/adapters/mongo/a.ts'
  for (const text of ['class A extends B {', 'export class A<T> extends B<T> implements C {']) {
    assert.deepEqual(inheritingClasses(path, `\n${text}`), [`${path}:2: a class of an adapter that inherits`], text)
    for (const other of ['services/session/run/a.ts', 'services/session/adapters/mongo/a.test.ts'])
      assert.deepEqual(inheritingClasses(other, text), [])
  }
  for (const text of ['class A extends Error {', 'class A extends FileError {}', 'class A<T extends object> {'])
    assert.deepEqual(inheritingClasses(path, text), [], text)
  assert.deepEqual(inheritingClasses(path, 'class A extends Map<string, B> {'), [])
})

test('a function is not written as the value of an assignment to a member', () => {
  const refused = [
    'call.name = (field) => field',
    'this.#wake = () => {',
    'a[0].run ??= async (x): Promise<void> => {',
    'a.b = function () {',
  ]
  for (const text of refused) {
    const problem = 'gateway/a.ts:2: a function assigned to a member; give it a name first'
    assert.deepEqual(lastingFunctions('gateway/a.ts', `const a = 1\n${text}`), [problem], text)
  }
  const taken = [
    'const wake = () => {}\nthis.#wake = wake',
    'readonly #onAbort = (): void => {',
    'a.timer = later(() => b)',
    'a.b = c === (() => d)',
  ]
  for (const text of taken) assert.deepEqual(lastingFunctions('gateway/a.ts', text), [], text)
  assert.deepEqual(lastingFunctions('bench/a.ts', 'a.b = () => c'), [])
})

test('an object literal is not spread into another one', () => {
  const problem = 'bench/a.ts:2: an object literal that is spread into another one'
  for (const spread of ['...{ b: 1, c }', '...({ b: 1 } as const)', '...{\n b }']) {
    assert.deepEqual(spreadLiterals('bench/a.ts', `const a = {\n  ${spread},\n}`), [problem], spread)
  }
  for (const text of ['{ ...b }', '{ ...(b && { c }) }', '[...[{ b }]]', '{ ...(b ? { c } : {}) }']) {
    assert.deepEqual(spreadLiterals('gateway/a.ts', text), [], text)
  }
  assert.deepEqual(spreadLiterals('gateway/a.test.ts', '{ ...{ b } }'), [])
})
