import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileGlob, GlobError } from './path-glob.ts'

const cases: readonly (readonly [pattern: string, matching: string, other: string])[] = [
  ['a.ts', 'a.ts', 'a.tsx b/a.ts'],
  ['*.ts', 'a.ts .ts .a.ts', 'a/b.ts a.tsx'],
  ['**/*.ts', 'a.ts a/b.ts a/b/c.ts', 'a.js a/b.ts/c'],
  ['src/**', 'src src/a src/a/b', 'src2 a/src'],
  ['src/**/test/*.ts', 'src/test/a.ts src/a/b/test/c.ts', 'src/test/a/b.ts test/a.ts'],
  ['**', 'a a/b/c', ''],
  ['?.ts', 'a.ts ä.ts 😀.ts', '.ts ab.ts'],
  ['[a-c]?[!x].[^y]', 'abz.z', 'dbz.z abx.z abz.y'],
  ['[]]x', ']x', 'x'],
  ['[x', '[x', 'x'],
  ['*.{ts,js{,x}}', 'a.ts a.js a.jsx', 'a.tsx a.'],
  ['{a,b}/{c,d}', 'a/c a/d b/c b/d', 'a/b'],
  ['{a}', '{a}', 'a'],
  ['\\*\\?', '*?', 'ab'],
  ['a*b*c', 'abc aXbYc aabbcc', 'ab acb'],
]

test('a pattern matches whole paths, segment by segment', () => {
  for (const [pattern, matching, other] of cases) {
    const matches = compileGlob(pattern)
    for (const path of matching.split(' ')) assert.ok(matches(path), `${pattern} matches ${path}`)
    for (const path of other.split(' ').filter(Boolean)) assert.ok(!matches(path), `${pattern} does not match ${path}`)
  }
})

test('no pattern takes more than pattern × path steps', () => {
  const long = 'a'.repeat(4000)
  assert.equal(compileGlob(`${'*a'.repeat(300)}b`)(long), false)
  assert.equal(compileGlob(`${'**/a/'.repeat(100)}b`)(Array(1000).fill('a').join('/')), false)
})

test('a pattern with more than 256 alternatives is refused', () => {
  assert.throws(() => compileGlob('{a,b}'.repeat(20)), GlobError)
  assert.ok(compileGlob('{a,b}'.repeat(8))('abababab'))
})
