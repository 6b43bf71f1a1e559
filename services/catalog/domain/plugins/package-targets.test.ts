import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinProblems, packageTargets } from './package-targets.ts'
import type { PluginInfo } from './plugin.ts'

const plugin = (target: string | undefined, more: Partial<PluginInfo> = {}): PluginInfo => ({
  ...{ id: undefined, version: undefined, outdated: false, updating: false, refused: false, failure: undefined },
  origin: target === undefined ? { type: 'local', path: '/a.js' } : { type: 'package', target },
  ...more,
})

test('each package is a target once; one that may run nowhere has its problem', () => {
  const failure = { error: 'not trusted', ref: undefined }
  const refused = { refused: true, failure }
  const plugins = [plugin('a'), plugin(undefined), plugin('b', refused), plugin('a', refused), plugin('c', { failure })]
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
