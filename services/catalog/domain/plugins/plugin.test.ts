import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinProblems, packageTargets } from './plugin.ts'

const plugin = (target: string | undefined, problem?: string) => ({
  origin: target === undefined ? ({ type: 'local', path: '/a.js' } as const) : ({ type: 'package', target } as const),
  problem,
})

test('names each package once, with the problem of one that may run nowhere', () => {
  const plugins = [plugin('a'), plugin(undefined), plugin('b', 'not trusted'), plugin('a', 'not trusted'), plugin('c')]
  assert.deepEqual(packageTargets(plugins), [
    { target: 'a', problem: undefined },
    { target: 'b', problem: 'not trusted' },
    { target: 'c', problem: undefined },
  ])
})

test('a message names every failure, however many there are and however long they are', () => {
  const problems = Array.from({ length: 20 }, (_, i) => ({ target: `plugin-${i}`, problem: 'x'.repeat(500) }))
  const text = joinProblems(problems)
  assert.ok(text.length <= 1_000)
  for (const { target } of problems) assert.ok(text.includes(`${target}: x`))
  assert.equal(joinProblems(problems.slice(0, 1)).length, 'plugin-0: '.length + 500)
})
