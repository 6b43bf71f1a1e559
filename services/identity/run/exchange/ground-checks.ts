import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { isUsable } from '#services/identity/domain/api-key.ts'
import { hasFederation, PLAN_NAMES } from '#services/identity/domain/organization.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { SubjectToken } from '#services/identity/domain/subject-token/read-subject-token.ts'
import { type Verdict, verdict } from '#services/identity/domain/subject-token/step.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'

/**
 * An exchange, or the rehearsal of one: a token and what it is checked against. `now` is in milliseconds since the
 * epoch.
 */
export interface Candidate {
  readonly token: SubjectToken
  /** The policy need not be saved. */
  readonly ground: Omit<ExchangeGround, 'policy'> & { readonly policy: Pick<Policy, 'settings'> }
  readonly now: number
}

/** Whether the policy is enabled. */
export function checkPolicy({ ground: { policy } }: Candidate): Verdict {
  const { enabled } = policy.settings
  return verdict(enabled, () => ['enabled', enabled ? 'enabled' : 'paused'])
}

/** Whether the organization's plan includes federation. */
export function checkPlan({ ground: { organization } }: Candidate): Verdict {
  return verdict(hasFederation(organization.plan), () => ['business or enterprise', PLAN_NAMES.get(organization.plan)])
}

/** Whether the policy's key can be used. */
export function checkKey({ ground: { key }, now }: Candidate): Verdict {
  const passes = key !== undefined && key.kind === Kind.WORKSPACE && isUsable(key, now)
  return verdict(passes, () => {
    const state = key === undefined ? 'deleted' : key.disabled ? 'disabled' : passes ? 'in use' : 'expired'
    return ['a workspace key in use', state]
  })
}
