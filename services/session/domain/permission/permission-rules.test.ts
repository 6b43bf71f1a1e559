import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  PermissionRule_Effect as Effect,
  type PermissionRule,
  PermissionRuleSchema,
  type ToolAccess,
  ToolAccessSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import { isApproved, judgeAccess, type Rules } from './permission-rules.ts'

const EFFECTS = { allow: Effect.ALLOW, deny: Effect.DENY, ask: Effect.ASK }
type Word = keyof typeof EFFECTS
const rule = (action: string, resource: string, effect: Word): PermissionRule =>
  create(PermissionRuleSchema, { action, resource, effect: EFFECTS[effect] })
const given = (agent: readonly PermissionRule[], approvals: readonly PermissionRule[] = []) => ({
  ...{ agent, session: [], approvals },
})
/** What an access comes to once what was approved counts, too. */
function evaluateAccess(rules: Rules & { readonly approvals: readonly PermissionRule[] }, access: ToolAccess): string {
  const judgement = judgeAccess(rules, access)
  const approved = judgement.effect === Effect.ASK && isApproved(rules.approvals, access, judgement)
  return Effect[approved ? Effect.ALLOW : judgement.effect].toLowerCase()
}

const access = (action: string, resources: string[], guardedPath?: string): ToolAccess =>
  create(ToolAccessSchema, { action, resources, guardedPath })
const read = (...resources: string[]) => access('read', resources)

test('no pattern is slow, whatever its stars, its length and the text', () => {
  const text = 'a'.repeat(29_000)
  const half = 'a'.repeat(2_000)
  const patterns = [
    '*a'.repeat(2_000),
    `*${half}${half}b`,
    `*${half}b${half}*`,
    `*b${half}${half}*`,
    `*${half}?${half}b*`,
  ]
  const rules = patterns.flatMap((pattern) => Array.from({ length: 40 }, () => rule('read', `${pattern}b`, 'deny')))
  assert.equal(evaluateAccess(given([rule('*', '*', 'allow'), ...rules]), read(text)), 'allow')
})

test('the last rule that matches wins, and no match asks', () => {
  const rules = [rule('*', '*', 'allow'), rule('read', '*.env', 'ask'), rule('read', 'my.env', 'allow')]
  assert.equal(evaluateAccess(given(rules), read('a.ts')), 'allow')
  assert.equal(evaluateAccess(given(rules), read('a.env')), 'ask')
  assert.equal(evaluateAccess(given(rules), read('my.env')), 'allow')
  assert.equal(evaluateAccess(given([]), read('a.ts')), 'ask')
  assert.equal(evaluateAccess(given([rule('*', '*', 'allow')]), read()), 'allow')
})

test('denies an access if one of its resources is denied, and asks if one has to be asked for', () => {
  const rules = [rule('*', '*', 'allow'), rule('read', '*.env', 'ask'), rule('read', 'secret/*', 'deny')]
  assert.equal(evaluateAccess(given(rules), read('a', 'b.env')), 'ask')
  assert.equal(evaluateAccess(given(rules), read('a', 'b.env', 'secret/c')), 'deny')
})

test('a saved approval answers an ask and never lifts a denial', () => {
  const rules = [rule('*', '*', 'ask'), rule('read', 'secret/*', 'deny')]
  const approvals = [rule('read', '*', 'allow')]
  assert.equal(evaluateAccess(given(rules, approvals), read('a')), 'allow')
  assert.equal(evaluateAccess(given(rules, approvals), read('secret/a')), 'deny')
  assert.equal(evaluateAccess(given(rules, approvals), access('bash', ['ls'])), 'ask')
})

test('the rules of agents deny a change of a guarded file, but never allow one', () => {
  const change = access('edit', ['opencode.json', 'link'], '/p/opencode.json')
  const agent = [rule('*', '*', 'allow'), rule('edit', 'opencode.json', 'allow')]
  const effect = (session: PermissionRule[], approvals: PermissionRule[] = [], own = agent) =>
    evaluateAccess({ agent: own, session, approvals }, change)
  assert.equal(effect([]), 'ask')
  assert.equal(effect([], [], [rule('edit', '*', 'deny')]), 'deny')
  assert.equal(effect([], [], []), 'ask')
  assert.equal(effect([rule('edit', '*', 'allow')]), 'allow', "the session's rules lift it")
  assert.equal(effect([rule('edit', '*', 'allow')], [], [rule('edit', '*', 'deny')]), 'allow')
  assert.equal(effect([rule('edit', 'link', 'allow')]), 'ask', 'but only for each of its names')
  assert.equal(effect([rule('edit', '*', 'allow'), rule('*', '*', 'ask')]), 'ask')
  assert.equal(effect([rule('edit', '*', 'deny')]), 'deny')
  assert.equal(effect([], [rule('edit', '/p/opencode.json', 'allow')]), 'allow', 'an approval of the path lifts it')
  for (const pattern of ['*', '/p/*', 'opencode.json', '/q/opencode.json', '/p/opencode.jso?']) {
    assert.equal(effect([], [rule('edit', pattern, 'allow')]), 'ask', `an approval of ${pattern} does not`)
  }
  assert.equal(effect([], [rule('*', '/p/opencode.json', 'allow')]), 'ask')
  assert.equal(effect([], [rule('edit', '/p/opencode.json', 'allow')], [rule('edit', '*', 'deny')]), 'deny')
})

test('an effect that only a newer catalog knows asks, also in the rules of an ancestor', () => {
  const unknown = { ...rule('*', '*', 'allow'), effect: 99 as Effect }
  assert.equal(evaluateAccess(given([unknown]), read('a')), 'ask')
  const below = { agent: [rule('*', '*', 'allow')], session: [], ancestors: [[unknown]] }
  assert.equal(judgeAccess(below, read('a')).effect, Effect.ASK)
})
