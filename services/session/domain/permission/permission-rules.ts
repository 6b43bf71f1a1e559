import { matches } from '#shared/permission-pattern.ts'
import type { ToolAccess } from '../agent.ts'
import type { Effect, PermissionRule } from './permission.ts'

/** Rules that an access is judged by. */
export interface Rules {
  readonly agent: readonly PermissionRule[]
  /** Follow the agent's. */
  readonly session: readonly PermissionRule[]
  /** Of the ancestors: a `deny` in any of these lists denies, and an `ask` in any of them rules out `allow`. */
  readonly ancestors?: readonly (readonly PermissionRule[])[]
}

/** The result of the rules for an access. */
export interface Judgement {
  readonly effect: Effect
  /** The resources that need permission, if the effect is `ask`. */
  readonly asking: readonly string[]
}

/**
 * Judges an access: a denied resource denies it; otherwise a resource that needs permission makes it `ask`. A guarded
 * file may hold the agent's own rules, so they can deny a change of it but not allow one: that needs a rule of the
 * session for each resource, or an approval of this very path, word for word.
 */
export function judgeAccess({ agent, session, ancestors = [] }: Rules, access: ToolAccess): Judgement {
  const { action, resources, guardedPath } = access
  // An access without resources is an access to everything.
  const all = resources.length === 0 ? ['*'] : resources
  const rules = [...agent, ...session]
  const isBound = (effect: Effect, resource: string): boolean =>
    ancestors.some((list) => ruleFor(list, action, resource)?.effect === effect)
  const effects = all.map((resource) => (isBound('deny', resource) ? 'deny' : effectOf(rules, action, resource)))
  if (effects.includes('deny')) return { effect: 'deny', asking: [] }
  const allowed = (resource: string, i: number): boolean => {
    if (isBound('ask', resource)) return false
    return guardedPath === undefined ? effects[i] === 'allow' : effectOf(session, action, resource) === 'allow'
  }
  const asking = all.filter((resource, i) => !allowed(resource, i))
  return { effect: asking.length === 0 ? 'allow' : 'ask', asking }
}

/** Whether earlier `always` answers turn the `ask` of a judgement into an `allow`. */
export function isApproved(
  approvals: readonly PermissionRule[],
  { action, guardedPath }: ToolAccess,
  { asking }: Judgement,
): boolean {
  if (guardedPath === undefined) return asking.every((resource) => effectOf(approvals, action, resource) === 'allow')
  return approvals.some((rule) => rule.action === action && rule.resource === guardedPath)
}

/** Where no rule matches, permission is requested. */
function effectOf(rules: readonly PermissionRule[], action: string, resource: string): Effect {
  return ruleFor(rules, action, resource)?.effect ?? 'ask'
}

/** The last rule that matches: it wins. */
export function ruleFor(
  rules: readonly PermissionRule[],
  action: string,
  resource: string,
): PermissionRule | undefined {
  return rules.findLast((rule) => matches(rule.action, action) && matches(rule.resource, resource))
}
