import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PermissionRule } from '../permission/permission.ts'
import { judgeAccess } from '../permission/permission-rules.ts'
import { rulesAbove, type Superior } from './rules-above.ts'

/** Rules as `action resource effect`. */
function rules(...lines: string[]): PermissionRule[] {
  return lines.map((line) => {
    const [action = '', resource = '', effect] = line.split(' ')
    return { action, resource, effect: effect as PermissionRule['effect'] }
  })
}

const ALL = '* * allow'
const above = (agentId: string, agent: string[], session: string[] = []): Superior => ({
  ...{ agentId, agent: rules(ALL, ...agent), session: rules(...session) },
})

/** What an agent `child` that may everything may do, below others. */
const table: readonly [title: string, above: Superior[], access: string, effect: string][] = [
  ['nobody is above', [], 'edit a', 'allow'],
  ['an allow above binds nobody', [above('build', [])], 'edit a', 'allow'],
  ['what no rule above mentions is not asked for', [{ ...above('build', []), agent: [] }], 'edit a', 'allow'],
  ['a deny of the session above', [above('build', [], ['edit * deny'])], 'edit a', 'deny'],
  ['an ask of the session above', [above('build', [], ['edit * ask'])], 'edit a', 'ask'],
  ['a deny of the agent above', [above('plan', ['edit * deny'])], 'edit a', 'deny'],
  ['an ask of the agent above', [above('plan', ['bash * ask'])], 'bash ls', 'ask'],
  ['of rules above the last that matches counts', [above('plan', ['edit * deny', 'edit a allow'])], 'edit a', 'allow'],
  ['the session above stands after its agent', [above('plan', ['edit * deny'], ['edit a allow'])], 'edit a', 'allow'],
  [
    'a child that was allowed by name is free of the agent',
    [above('plan', ['edit * deny', 'task child allow'])],
    'edit a',
    'allow',
  ],
  ['but not of the session', [above('plan', ['task child allow'], ['edit * deny'])], 'edit a', 'deny'],
  ['a pattern names nobody', [above('plan', ['edit * deny', 'task chil* allow'])], 'edit a', 'deny'],
  ['nor does a rule for any action', [above('plan', ['edit * deny', '* child allow'])], 'edit a', 'deny'],
  [
    'nor one that a later one takes back',
    [above('plan', ['edit * deny', 'task child allow', 'task * ask'])],
    'edit a',
    'deny',
  ],
  ['nor an ask', [above('plan', ['edit * deny', 'task child ask'])], 'edit a', 'deny'],
  ['nor that of a session', [above('plan', ['edit * deny'], ['task child allow'])], 'edit a', 'deny'],
  ['it goes down two', [above('middle', []), above('plan', ['edit * deny'])], 'edit a', 'deny'],
  [
    'who was named may call others',
    [above('middle', []), above('plan', ['edit * deny', 'task middle allow'])],
    'edit a',
    'allow',
  ],
  [
    'who was not gives nobody more',
    [above('middle', []), above('plan', ['edit * deny', 'task child allow'])],
    'edit a',
    'deny',
  ],
  [
    'the strictest of several counts',
    [above('middle', ['edit * ask']), above('plan', ['edit * deny'])],
    'edit a',
    'deny',
  ],
]

for (const [title, superiors, access, effect] of table) {
  test(`rules of those above: ${title}`, () => {
    const [action = '', resource = ''] = access.split(' ')
    const given = { agent: rules(ALL), session: [], above: rulesAbove('child', superiors) }
    assert.equal(judgeAccess(given, { action, resources: [resource] }).effect, effect)
  })
}

test('rules above do not weaken a session’s own rules, not even for guarded files', () => {
  const bound = [above('plan', ['edit * ask'])]
  const own = { agent: rules('* * deny'), session: [], above: rulesAbove('child', bound) }
  assert.equal(judgeAccess(own, { action: 'edit', resources: ['a'] }).effect, 'deny')
  const session = rules('edit * allow')
  const guarded = { action: 'edit', resources: ['a'], guardedPath: '/a' }
  assert.equal(judgeAccess({ agent: [], session, above: [] }, guarded).effect, 'allow')
  assert.deepEqual(judgeAccess({ agent: [], session, above: rulesAbove('child', bound) }, guarded).asking, ['a'])
})
