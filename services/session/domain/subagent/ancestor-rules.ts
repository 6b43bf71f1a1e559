import { PermissionRule_Effect as Effect, type PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import { matches } from '#shared/permission-pattern.ts'
import { asks, denies, ruleFor } from '../permission/permission-rules.ts'
import { TASK } from './task-tool.ts'

/** An ancestor of a session, with the rules that it runs under. */
export interface Ancestor {
  readonly agentId: string
  readonly agent: readonly PermissionRule[]
  readonly session: readonly PermissionRule[]
}

/**
 * The lists whose `deny` and `ask` rules bind an agent because of the ancestors of its session, nearest first: the
 * rules of each ancestor, and those of its agent. The latter are left out if they allow the called agent by name, which
 * lifts them for that agent and everything that it calls.
 */
export function ancestorRules(agentId: string, ancestors: readonly Ancestor[]): (readonly PermissionRule[])[] {
  let called = agentId
  return ancestors.map((ancestor) => {
    const named = isNamed(ancestor.agent, called)
    called = ancestor.agentId
    return named ? ancestor.session : [...ancestor.agent, ...ancestor.session]
  })
}

/**
 * The rules of a session that remains bound although it has no ancestors: its own, followed by the `ask` and `deny`
 * rules of `ancestorRules`. A `deny` of the session or its agent never becomes an `ask` this way. Exceptions to a rule
 * are lost, so the result may be stricter.
 */
export function ownRules(
  { agent, session }: Ancestor,
  ofAncestors: readonly (readonly PermissionRule[])[],
): PermissionRule[] {
  const asking = ofAncestors.flat().filter(asks)
  const overlaps = ({ action }: PermissionRule) =>
    asking.some((rule) => matches(rule.action, action) || matches(action, rule.action))
  return [
    ...session,
    ...asking,
    ...[...agent, ...session].filter(denies).filter(overlaps),
    ...ofAncestors.flat().filter(denies),
  ]
}

/** Whether rules allow an agent by a rule for `task` that names it, and not by one for many. */
function isNamed(rules: readonly PermissionRule[], agentId: string): boolean {
  const rule = ruleFor(rules, TASK, agentId)
  return rule?.effect === Effect.ALLOW && rule.action === TASK && rule.resource === agentId
}
