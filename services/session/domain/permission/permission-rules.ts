import type { ToolAccess } from '../agent.ts'
import type { Effect, PermissionRule } from './permission.ts'

/** Rules that an access is judged by. */
export interface Rules {
  readonly agent: readonly PermissionRule[]
  /** Stand after the agent's. */
  readonly session: readonly PermissionRule[]
  /** What earlier `always` answers saved: stand last, and never lift a denial. */
  readonly approvals: readonly PermissionRule[]
}

/**
 * What happens to an access: any resource that is denied denies it; else any that needs asking asks
 * (instance facts 3.13). A guarded file may hold the agent's own rules, so they can deny a change of it but
 * not allow one: that needs a rule of the session for each resource, or an approval of this very path, word for word.
 */
export function evaluateAccess({ agent, session, approvals }: Rules, access: ToolAccess): Effect {
  const { action, resources, guardedPath } = access
  // An access to nothing in particular is one to anything.
  const all = resources.length === 0 ? ['*'] : resources
  const is = (effect: Effect, rules: readonly PermissionRule[]) => (resource: string) =>
    effectOf(rules, action, resource) === effect
  if (all.some(is('deny', [...agent, ...session]))) return 'deny'
  if (guardedPath === undefined) return all.some(is('ask', [...agent, ...session, ...approvals])) ? 'ask' : 'allow'
  const approved = approvals.some((rule) => rule.action === action && rule.resource === guardedPath)
  return approved || all.every(is('allow', session)) ? 'allow' : 'ask'
}

/** The last rule that matches wins; where none does, somebody is asked. */
function effectOf(rules: readonly PermissionRule[], action: string, resource: string): Effect {
  const rule = rules.findLast((rule) => matches(rule.action, action) && matches(rule.resource, resource))
  return rule?.effect ?? 'ask'
}

/**
 * Whether a pattern matches a whole text: `*` is any run of characters, `/` included, `?` is one, `\` equals `/`. A
 * pattern that ends in ` *` also matches without an argument: `git push *` matches `git push`.
 */
export function matches(pattern: string, text: string): boolean {
  const wanted = pattern.replaceAll('\\', '/')
  const given = text.replaceAll('\\', '/')
  if (wanted.endsWith(' *') && matchesGlob(wanted.slice(0, -2), given)) return true
  return matchesGlob(wanted, given)
}

// Goes back to the last star only: no pattern makes it slow, whoever wrote it.
function matchesGlob(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let resume = 0
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++
      resume = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star >= 0) {
      p = star + 1
      t = ++resume
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
