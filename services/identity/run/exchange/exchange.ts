import { readSubjectToken, type SubjectToken } from '#services/identity/domain/subject-token/read-subject-token.ts'
import { claimOf, type StepName, shown } from '#services/identity/domain/subject-token/step.ts'
import { timesOf } from '#services/identity/domain/subject-token/times.ts'
import type { AuditLog } from '#services/identity/ports/audit-log.ts'
import type { ExchangeGround, FederationStore } from '#services/identity/ports/federation-store.ts'
import type { ReplayClaims } from '#services/identity/ports/replay-claims.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { AccessTokens, MintedToken } from '../access-token/access-tokens.ts'
import type { ExchangeSteps } from './exchange-steps.ts'
import type { RefusalLog } from './refusal-log.ts'

/** How long a claimed token is remembered after it has expired, in milliseconds: the clocks of processes differ. */
const CLAIM_MARGIN_MS = 120_000
/** How often a policy is read in one exchange; keys that are waited for each time count as unavailable. */
const MOST_READS = 3
/** Steps that find nothing of the token, but words of ours: they may be recorded before it is verified. */
const OWN_WORDS: ReadonlySet<StepName> = new Set(['policy', 'plan', 'key', 'claims'])

export interface ExchangeOptions {
  readonly federation: Pick<FederationStore, 'findPolicy'>
  readonly steps: Pick<ExchangeSteps, 'untilFailure' | 'refuse'>
  readonly claims: ReplayClaims
  readonly tokens: Pick<AccessTokens, 'mint'>
  readonly audit: Pick<AuditLog, 'append'>
  readonly refusals: RefusalLog
  readonly clock: Clock
}

/** What is exchanged. */
export interface ExchangeRequest {
  readonly policyId: string
  readonly subjectToken: string
  /** Where the request came from, for the audit log. */
  readonly clientNetwork: string
  /** Throws when nobody waits for the token any more. */
  readonly throwIfGone: () => void
}

/** An exchange of a known policy. */
interface Attempt {
  readonly ground: ExchangeGround
  readonly token: SubjectToken
  readonly clientNetwork: string
  readonly throwIfGone: () => void
}

/** Exchanges subject tokens for access tokens. */
export class Exchange {
  readonly #options: ExchangeOptions

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /**
   * Makes an access token, once the audit log holds durably that it does. Rejects with SUBJECT_TOKEN_INVALID for what is no JWT, with
   * ISSUER_KEYS_UNAVAILABLE (`retry_after`: seconds) where only the signature is open, and with GRANT_REFUSED for everything else:
   * after one read of the policy and one look at a signature, whether there is such a policy or not; where keys were waited for
   * after another read, so that what was changed meanwhile counts. Only the audit log gets to know why.
   * A subject token that passes once is not claimed for a caller who has hung up by then: they may come back with it.
   */
  async exchange({ policyId, subjectToken, ...caller }: ExchangeRequest): Promise<MintedToken> {
    const { federation, steps, clock } = this.#options
    const read = readSubjectToken(subjectToken)
    if ('problem' in read) throw new Rejection('SUBJECT_TOKEN_INVALID')
    for (let reads = 1; ; reads++) {
      const ground = await federation.findPolicy(policyId)
      if (ground === undefined) {
        await steps.refuse()
        throw new Rejection('GRANT_REFUSED')
      }
      const attempt: Attempt = { ground, token: read.token, ...caller }
      const { failed, verified, unavailable, waited } = await steps.untilFailure({ ...attempt, now: clock.now() })
      if (failed !== undefined) {
        throw this.#refused(attempt, failed.name, verified || OWN_WORDS.has(failed.name) ? failed.found : undefined)
      }
      if (unavailable !== undefined) throw this.#unavailable(attempt, unavailable.retryAfterSeconds)
      if (!waited) return this.#accept(attempt)
      if (reads === MOST_READS) throw this.#unavailable(attempt, 1)
    }
  }

  #unavailable(attempt: Attempt, retryAfterSeconds: number): Rejection {
    this.#record(attempt, 'issuer_keys', undefined)
    return new Rejection('ISSUER_KEYS_UNAVAILABLE', { retry_after: String(retryAfterSeconds) })
  }

  async #accept(attempt: Attempt): Promise<MintedToken> {
    const { tokens, audit, clock } = this.#options
    const { ground, token, clientNetwork, throwIfGone } = attempt
    const { policy, issuer, key } = ground
    const [subject, times] = [claimOf(token.claims, 'sub'), timesOf(token.claims)]
    if (issuer === undefined || typeof subject !== 'string' || times === undefined) throw new Error('a step is missing')
    const { target, id: policyId, revision: policyRevision } = policy
    const { id: issuerId, revision: issuerRevision } = issuer
    const grant = { subject, subjectExpires: times.expires, policyId, issuerId, target, keyExpires: key?.timeExpires }
    const minted = await tokens.mint(grant)
    if (minted === undefined) throw this.#refused(attempt, 'lifetime', undefined)
    if (issuer.singleUse) {
      throwIfGone()
      await this.#claim(attempt, issuer.id, times.expires)
    }
    const { tokenId, timeExpires } = minted
    const exchanged = { policyId, policyRevision, issuerId, issuerRevision, target, subject, tokenId, timeExpires }
    const event = { type: 'exchange-accepted', ...exchanged, clientNetwork } as const
    await audit.append({ organizationId: policy.organizationId, time: clock.now(), event })
    return minted
  }

  /** After all checks, so that a token which is refused is not used up. */
  async #claim(attempt: Attempt, issuerId: string, expires: number): Promise<void> {
    const { organizationId } = attempt.ground.policy
    const jti = claimOf(attempt.token.claims, 'jti')
    if (typeof jti !== 'string') throw new Error('a step is missing')
    const until = expires * 1000 + CLAIM_MARGIN_MS
    const claimed = await this.#options.claims.claim({ organizationId, issuerId, jti }, until)
    if (!claimed) throw this.#refused(attempt, 'single_use', shown(jti))
  }

  #refused(attempt: Attempt, reason: StepName, found: string | undefined): Rejection {
    this.#record(attempt, reason, found)
    return new Rejection('GRANT_REFUSED')
  }

  #record({ ground, clientNetwork }: Attempt, reason: StepName | 'issuer_keys', found: string | undefined): void {
    const { organizationId, id: policyId } = ground.policy
    const issuerId = ground.issuer?.id
    this.#options.refusals.record({ organizationId, policyId, issuerId, reason, found, clientNetwork })
  }
}
