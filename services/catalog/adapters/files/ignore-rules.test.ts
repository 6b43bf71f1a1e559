import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuDuring } from '#test/support/held.ts'
import { IgnoreRules } from './ignore-rules.ts'

/** Rules of ignore files, by directory, the highest first. */
const rulesOf = (files: Readonly<Record<string, string>>): IgnoreRules =>
  Object.entries(files).reduce((rules, [base, text]) => rules.with(text, base), new IgnoreRules())

/** Paths that end in a slash are directories. */
function assertExcluded(rules: IgnoreRules, yes: string, no: string): void {
  const excluded = (path: string): boolean => rules.exclude(path.replace(/\/$/, ''), path.endsWith('/'))
  for (const path of yes.split(' ').filter(Boolean)) assert.ok(excluded(path), `${path} is excluded`)
  for (const path of no.split(' ').filter(Boolean)) assert.ok(!excluded(path), `${path} is not excluded`)
}

test('a line of more than 1,024 characters is left out, but for the spaces at its end', () => {
  const long = `a${' '.repeat(200_000)}b\n${'y'.repeat(1_025)}\n${'z'.repeat(1_024)}\n`
  for (const base of ['', 'sub']) {
    const rules = rulesOf({ [base]: `${long}x${' '.repeat(200_000)}` })
    assertExcluded(rules, `sub/x sub/${'z'.repeat(1_024)}`, `sub/${'y'.repeat(1_025)}`)
  }
})

test('the lines of an ignore file mean what gitignore(5) says', () => {
  const cases: readonly (readonly [text: string, yes: string, no: string])[] = [
    ['*.log', 'a.log b/c.log', 'a.logs A.LOG'],
    ['/top', 'top', 'a/top'],
    ['dist/', 'dist/ a/dist/ a/dist/b', 'dist a/dist'],
    ['a/b', 'a/b', 'c/a/b'],
    ['a/**/z', 'a/z a/b/z a/b/c/z', 'z'],
    ['# note\n\n\\#x', '#x', 'note'],
    ['*.log\n!keep.log', 'a.log', 'keep.log b/keep.log'],
    ['!a\na', 'a', 'b'],
    ['trailing   ', 'trailing', 'other'],
    ['[a-c]?.x\r\nwin\r\n', 'ab.x win', 'db.x'],
    ['whole/\n!whole/kept', 'whole/kept', ''],
    ['[', '', 'a'],
  ]
  for (const [text, yes, no] of cases) assertExcluded(rulesOf({ '': text }), yes, no)
})

test('a deeper file decides after a higher one, and only below itself', () => {
  const rules = rulesOf({ '': '*.log\nbuild/', deep: '!*.log\n/only\nsub/x\nout/\n!build/', 'deep/er': 'a.log' })
  assertExcluded(
    rules,
    'a.log deep/only deep/sub/x deep/out/ deep/any/out/ deep/er/a.log build/',
    'deep/a.log only sub/x out/ deeper/only deep/any/only deep/any/sub/x deep/er/b.log deep/build/ deep/build/x',
  )
})

test('the name of the directory of an ignore file is matched literally, not as a pattern', () => {
  for (const base of ['a[b]', 'x*', '!no', '#c', 'with space', 'q?']) {
    assertExcluded(rulesOf({ [base]: '*.log\n/top' }), '', 'ab/a.log xy/top other/a.log')
    const rules = rulesOf({ [base]: '*.log\n/top' })
    assert.ok(rules.exclude(`${base}/a.log`, false) && rules.exclude(`${base}/top`, false), base)
  }
})

test('only the first 1,000 rules of a file count', () => {
  const rules = rulesOf({ '': `${'x\n'.repeat(1000)}late\n` })
  assertExcluded(rules, 'x', 'late')
})

test('no line of an ignore file keeps the process busy', () => {
  const long = 'a'.repeat(250)
  const [deep, wide] = [Array(64).fill('a').join('/'), Array(15).fill(long).join('/')]
  const lines = [
    ...['*a*a*a*a*c*b', '**a**a**a**b', '*a?*a?*a?*c*b', `${'*a'.repeat(100)}*b`, '[a-z]*[a-z]*[a-z]*[a-z]*c*b'],
    ...['**/*a*a*c*b/**/*a*b', `a${'/**/a'.repeat(3)}/c/b`, `a${'/**/a'.repeat(20)}/c/b`, '{a,b}'.repeat(20)],
  ]
  const ms = cpuDuring(() => {
    for (const line of lines) {
      const rules = rulesOf({ '': line })
      for (const path of [long, `${long}b`, `${deep}/b`, `${wide}/b`]) rules.exclude(path, false)
    }
  })
  assert.ok(ms < 15_000, `${ms} ms`)
})
