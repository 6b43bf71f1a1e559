import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blindCasts, inheritingClasses, longFiles, participles, spreadLiterals, wideComments } from './lint-house.ts'

test('reports a file of more than 300 lines, unless it is a test or a proto file', () => {
  const lines = (count: number): string => '// A comment\n\n'.repeat(count / 2)
  assert.deepEqual(longFiles('gateway/a.ts', lines(300)), [])
  assert.deepEqual(longFiles('gateway/a.ts', lines(302)), ['gateway/a.ts: 302 lines; above 300, ask why'])
  for (const path of ['test/http/a.ts', 'gateway/a.test.ts', 'proto/a.proto'])
    assert.deepEqual(longFiles(path, lines(400)), [])
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

test('a participle is refused as the name of a variable, function or type of the product', () => {
  for (const text of ['const found = 1', 'let known = 1', 'function said() {', 'interface Given {']) {
    const [, name] = /(\w+)(?: =|\(| \{)/.exec(text) ?? []
    assert.deepEqual(participles('gateway/a.ts', `\n${text}`), [`gateway/a.ts:2: "${name}" is no noun or verb`])
    assert.deepEqual(participles('gateway/a.test.ts', text), [])
  }
  assert.deepEqual(participles('gateway/a.ts', 'const foundation = found.known'), [])
})
