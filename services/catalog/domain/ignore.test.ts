import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isIgnored, readIgnoreFile } from './ignore.ts'

const ignored = (text: string, path: string, base = '') => {
  const isDirectory = path.endsWith('/')
  return isIgnored([readIgnoreFile(text, base)], path.replace(/\/$/, ''), isDirectory)
}

test('the lines of an ignore file mean what gitignore(5) says', () => {
  const cases: readonly (readonly [text: string, yes: string, no: string])[] = [
    ['*.log', 'a.log b/c.log', 'a.logs'],
    ['/top', 'top', 'a/top'],
    ['dist/', 'dist/ a/dist/', 'dist a/dist'],
    ['a/b', 'a/b', 'c/a/b'],
    ['a/**/z', 'a/z a/b/z a/b/c/z', 'z'],
    ['# note\n\n\\#x', '#x', 'note'],
    ['*.log\n!keep.log', 'a.log', 'keep.log b/keep.log'],
    ['!a\na', 'a', 'b'],
    ['trailing   ', 'trailing', 'other'],
    ['{a,b}'.repeat(20), '', 'a'],
  ]
  for (const [text, yes, no] of cases) {
    for (const path of yes.split(' ').filter(Boolean)) assert.ok(ignored(text, path), `${text} ignores ${path}`)
    for (const path of no.split(' ')) assert.ok(!ignored(text, path), `${text} does not ignore ${path}`)
  }
})

test('a deeper file decides before a higher one, and only below itself', () => {
  const files = [readIgnoreFile('*.log\n', ''), readIgnoreFile('!*.log\n/only', 'deep')]
  assert.ok(isIgnored(files, 'a.log', false))
  assert.ok(!isIgnored(files, 'deep/a.log', false))
  assert.ok(isIgnored(files, 'deep/only', false))
  assert.ok(!isIgnored(files, 'only', false))
  assert.ok(!isIgnored(files, 'deeper/only', false))
})

test('only the first 1,000 rules count', () => {
  const text = `${'x\n'.repeat(1000)}late\n`
  assert.ok(ignored(text, 'x'))
  assert.ok(!ignored(text, 'late'))
})
