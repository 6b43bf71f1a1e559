import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  PermissionRule_Effect as Effect,
  type PermissionRule,
  PermissionRuleSchema,
  ToolAccessSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import { judgeAccess } from '../permission/permission-rules.ts'
import { type Ancestor, ancestorRules } from './ancestor-rules.ts'

const EFFECTS: Record<string, Effect> = { allow: Effect.ALLOW, deny: Effect.DENY, ask: Effect.ASK }

const accessTo = (action: string, ...resources: string[]) => create(ToolAccessSchema, { action, resources })

/** Rules as `action resource effect`. */
function rules(...lines: string[]): PermissionRule[] {
  return lines.map((line) => {
    const [action = '', resource = '', effect = ''] = line.split(' ')
    return create(PermissionRuleSchema, { action, resource, effect: EFFECTS[effect] })
  })
}

const ALL = '* * allow'
const ancestor = (agentId: string, agent: string[], session: string[] = []): Ancestor => ({
  ...{ agentId, agent: rules(ALL, ...agent), session: rules(...session) },
})

/** What an agent `child` that may everything may do, below others. */
const table: readonly [title: string, ancestors: Ancestor[], access: string, effect: string][] = [
  ['a session without ancestors may do everything that its agent may', [], 'edit a', 'allow'],
  ['an allow of an ancestor does not restrict a child', [ancestor('build', [])], 'edit a', 'allow'],
  [
    'an access that no rule of an ancestor mentions needs no permission',
    [{ ...ancestor('build', []), agent: [] }],
    'edit a',
    'allow',
  ],
  ['a deny of an ancestor denies', [ancestor('build', [], ['edit * deny'])], 'edit a', 'deny'],
  ['an ask of an ancestor requires permission', [ancestor('build', [], ['edit * ask'])], 'edit a', 'ask'],
  ['a deny of an ancestor’s agent denies', [ancestor('plan', ['edit * deny'])], 'edit a', 'deny'],
  ['an ask of an ancestor’s agent requires permission', [ancestor('plan', ['bash * ask'])], 'bash ls', 'ask'],
  [
    'the last of an ancestor’s rules that matches counts',
    [ancestor('plan', ['edit * deny', 'edit a allow'])],
    'edit a',
    'allow',
  ],
  [
    'the rules of an ancestor take precedence over those of its agent',
    [ancestor('plan', ['edit * deny'], ['edit a allow'])],
    'edit a',
    'allow',
  ],
  [
    'a child that the agent allows by name is not bound by its rules',
    [ancestor('plan', ['edit * deny', 'task child allow'])],
    'edit a',
    'allow',
  ],
  [
    'a child that the agent allows by name is still bound by the rules of the session',
    [ancestor('plan', ['task child allow'], ['edit * deny'])],
    'edit a',
    'deny',
  ],
  [
    'a pattern does not allow a child by name',
    [ancestor('plan', ['edit * deny', 'task chil* allow'])],
    'edit a',
    'deny',
  ],
  [
    'a rule for any action does not allow a child by name',
    [ancestor('plan', ['edit * deny', '* child allow'])],
    'edit a',
    'deny',
  ],
  [
    'a later rule takes the allowance of a child back',
    [ancestor('plan', ['edit * deny', 'task child allow', 'task * ask'])],
    'edit a',
    'deny',
  ],
  ['an ask does not allow a child by name', [ancestor('plan', ['edit * deny', 'task child ask'])], 'edit a', 'deny'],
  [
    'a rule of a session does not allow a child by name',
    [ancestor('plan', ['edit * deny'], ['task child allow'])],
    'edit a',
    'deny',
  ],
  [
    'the rules of an agent bind the children of its children',
    [ancestor('middle', []), ancestor('plan', ['edit * deny'])],
    'edit a',
    'deny',
  ],
  [
    'the children of a child that was allowed by name are not bound either',
    [ancestor('middle', []), ancestor('plan', ['edit * deny', 'task middle allow'])],
    'edit a',
    'allow',
  ],
  [
    'a child that was not allowed by name cannot allow others more',
    [ancestor('middle', []), ancestor('plan', ['edit * deny', 'task child allow'])],
    'edit a',
    'deny',
  ],
  [
    'the strictest rule of several ancestors counts',
    [ancestor('middle', ['edit * ask']), ancestor('plan', ['edit * deny'])],
    'edit a',
    'deny',
  ],
]

for (const [title, ancestors, access, effect] of table) {
  test(`rules of ancestors: ${title}`, () => {
    const [action = '', resource = ''] = access.split(' ')
    const given = { agent: rules(ALL), session: [], ancestors: ancestorRules('child', ancestors) }
    assert.equal(judgeAccess(given, accessTo(action, resource)).effect, EFFECTS[effect])
  })
}

test('the rules of ancestors do not weaken a session’s own rules, not even for guarded files', () => {
  const bound = [ancestor('plan', ['edit * ask'])]
  const own = { agent: rules('* * deny'), session: [], ancestors: ancestorRules('child', bound) }
  assert.equal(judgeAccess(own, accessTo('edit', 'a')).effect, Effect.DENY)
  const session = rules('edit * allow')
  const guarded = { ...accessTo('edit', 'a'), guardedPath: '/a' }
  assert.equal(judgeAccess({ agent: [], session, ancestors: [] }, guarded).effect, Effect.ALLOW)
  assert.deepEqual(judgeAccess({ agent: [], session, ancestors: ancestorRules('child', bound) }, guarded).asking, ['a'])
})
