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
 * What binds an agent because of the sessions above it, nearest first: the `deny` and `ask` of each of these lists. They are
 * the rules of each session, and those of its agent, unless that allowed the agent which it called by name: then it gave it a
 * free hand, and with it those that are called further below.
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
 * The rules of a session that is to be bound without any above it: its own, and after them the `ask` and `deny` of the lists of `rulesAbove`.
 * Of what it or its agent denies nothing becomes a question by that. Exceptions from a rule are not kept: it is rather too strict.
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
