import { matches } from '#shared/permission-pattern.ts'
import type { PermissionRule } from '../permission/permission.ts'
import { ruleFor } from '../permission/permission-rules.ts'
import { TASK } from './task-tool.ts'

/** A session above another one, with the rules that it runs under. */
export interface Superior {
  readonly agentId: string
  readonly agent: readonly PermissionRule[]
  readonly session: readonly PermissionRule[]
}

/**
 * The lists whose `deny` and `ask` rules bind an agent because of the sessions above it, nearest first: the rules of
 * each session, and those of its agent. The latter are left out if they allow the called agent by name, which lifts
 * them for that agent and everything that it calls.
 */
export function rulesAbove(agentId: string, above: readonly Superior[]): (readonly PermissionRule[])[] {
  let called = agentId
  return above.map((superior) => {
    const named = isNamed(superior.agent, called)
    called = superior.agentId
    return named ? superior.session : [...superior.agent, ...superior.session]
  })
}

/**
 * The rules of a session that remains bound although it has no sessions above it: its own, followed by the `ask` and
 * `deny` rules of `rulesAbove`. A `deny` of the session or its agent never becomes an `ask` this way. Exceptions to a
 * rule are lost, so the result may be stricter.
 */
export function ownRules(
  { agent, session }: Superior,
  above: readonly (readonly PermissionRule[])[],
): PermissionRule[] {
  const asking = above.flat().filter(({ effect }) => effect === 'ask')
  const denied = (rules: readonly PermissionRule[]) => rules.filter(({ effect }) => effect === 'deny')
  const overlaps = ({ action }: PermissionRule) =>
    asking.some((rule) => matches(rule.action, action) || matches(action, rule.action))
  return [...session, ...asking, ...denied([...agent, ...session]).filter(overlaps), ...denied(above.flat())]
}

/** Whether rules allow an agent by a rule for `task` that names it, and not by one for many. */
function isNamed(rules: readonly PermissionRule[], agentId: string): boolean {
  const rule = ruleFor(rules, TASK, agentId)
  return rule?.effect === 'allow' && rule.action === TASK && rule.resource === agentId
}
