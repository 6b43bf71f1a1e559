import {
  PermissionRule_Effect as Effect,
  type PermissionRule,
  type ToolAccess,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import { matches } from '#shared/permission-pattern.ts'

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
  const isBound = (resource: string, binds: typeof asks): boolean =>
    ancestors.some((list) => binds(ruleFor(list, action, resource)))
  const effects = all.map((resource) => (isBound(resource, denies) ? Effect.DENY : effectOf(rules, action, resource)))
  if (effects.includes(Effect.DENY)) return { effect: Effect.DENY, asking: [] }
  const allowed = (resource: string, i: number): boolean => {
    if (isBound(resource, asks)) return false
    return (guardedPath === undefined ? effects[i] : effectOf(session, action, resource)) === Effect.ALLOW
  }
  const asking = all.filter((resource, i) => !allowed(resource, i))
  return { effect: asking.length === 0 ? Effect.ALLOW : Effect.ASK, asking }
}

/** Whether earlier `always` answers turn the `ask` of a judgement into an `allow`. */
export function isApproved(
  approvals: readonly PermissionRule[],
  { action, guardedPath }: ToolAccess,
  { asking }: Judgement,
): boolean {
  if (guardedPath === undefined)
    return asking.every((resource) => effectOf(approvals, action, resource) === Effect.ALLOW)
  return approvals.some((rule) => rule.action === action && rule.resource === guardedPath)
}

export function denies(rule: PermissionRule | undefined): boolean {
  return rule?.effect === Effect.DENY
}

/** An effect that only a newer catalog knows counts as `ask`. */
export function asks(rule: PermissionRule | undefined): boolean {
  return rule !== undefined && rule.effect !== Effect.ALLOW && rule.effect !== Effect.DENY
}

/** Where no rule matches, permission is requested. */
function effectOf(rules: readonly PermissionRule[], action: string, resource: string): Effect {
  return ruleFor(rules, action, resource)?.effect ?? Effect.ASK
}

/** The last rule that matches: it wins. */
export function ruleFor(
  rules: readonly PermissionRule[],
  action: string,
  resource: string,
): PermissionRule | undefined {
  return rules.findLast((rule) => matches(rule.action, action) && matches(rule.resource, resource))
}
