import { create } from '@bufbuild/protobuf'
import { AuditEntry_ExchangeRefusedSchema, AuditEntrySchema } from '#gen/portico/identity/v1/federation_pb.js'
import { requiredClaims } from '#services/identity/domain/subject-token/claims.ts'
import { readSubjectToken, type SubjectToken } from '#services/identity/domain/subject-token/read-subject-token.ts'
import { timesOf } from '#services/identity/domain/subject-token/rules.ts'
import { claimOf, quoteClaim, type StepName } from '#services/identity/domain/subject-token/step.ts'
import type { AuditLog } from '#services/identity/ports/audit-log.ts'
import type { DeletedPolicy, ExchangeGround, FederationStore } from '#services/identity/ports/federation-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { AccessTokens, MintedToken } from '../access-token/access-tokens.ts'
import type { ExchangeSteps } from './exchange-steps.ts'
import type { RefusalLog } from './refusal-log.ts'

/** How often a policy is read in one exchange; if keys have to be waited for each time, they count as unavailable. */
const MOST_READS = 3
/** Steps that show nothing of the token, but only words of ours, which may be recorded before it is verified. */
const OWN_WORDS: ReadonlySet<Failure['name']> = new Set<StepName>(['policy', 'plan', 'key', 'claims'])

export interface ExchangeOptions {
  readonly federation: Pick<FederationStore, 'findPolicy'>
  readonly steps: Pick<ExchangeSteps, 'untilFailure' | 'refuse'>
  readonly tokens: Pick<AccessTokens, 'mint'>
  readonly audit: Pick<AuditLog, 'append' | 'appendOnce'>
  readonly refusals: RefusalLog
  readonly clock: Clock
}

export interface ExchangeRequest {
  readonly policyId: string
  readonly subjectToken: string
  /** Where the request came from, for the audit log. */
  readonly clientNetwork: string
  /** Throws if nobody waits for the token any more. */
  readonly throwIfGone: () => void
}

/** Why an exchange is refused, and what was found instead of what is required. */
interface Failure {
  readonly name: StepName | 'issuer_keys'
  readonly found?: string | undefined
}

/** An exchange by a known policy. */
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
   * Issues an access token, once the audit log has stored that durably. Rejects with SUBJECT_TOKEN_INVALID for anything
   * that is not a JWT, with ISSUER_KEYS_UNAVAILABLE (`retry_after`: seconds) if only the signature is undecided, and
   * with GRANT_REFUSED for everything else: always after one read of the policy and one signature verification, whether
   * or not there is such a policy. After waiting for keys, the policy is read again, so that changes made meanwhile
   * apply. The reason is recorded only in the audit log. A single-use subject token is claimed in the commit of its
   * entry, but not for a caller who has hung up by then, and who may come back with it.
   */
  async exchange({ policyId, subjectToken, ...caller }: ExchangeRequest): Promise<MintedToken> {
    const { federation, steps, clock } = this.#options
    const read = readSubjectToken(subjectToken)
    if ('problem' in read) throw new Rejection('SUBJECT_TOKEN_INVALID')
    for (let reads = 1; ; reads++) {
      const ground = await federation.findPolicy(policyId)
      if (ground === undefined || 'deleted' in ground) {
        await steps.refuse()
        if (ground !== undefined) this.#recordDeleted(policyId, ground, caller.clientNetwork)
        throw new Rejection('GRANT_REFUSED')
      }
      const attempt: Attempt = { ground, token: read.token, ...caller }
      const { failed, verified, unavailable, waited } = await steps.untilFailure({ ...attempt, now: clock.now() })
      if (failed !== undefined) throw this.#refused(attempt, failed, verified)
      if (unavailable !== undefined) throw this.#unavailable(attempt, unavailable.retryAfterSeconds)
      if (!waited) return this.#accept(attempt)
      if (reads === MOST_READS) throw this.#unavailable(attempt, 1)
    }
  }

  #unavailable(attempt: Attempt, retryAfterSeconds: number): Rejection {
    this.#record(attempt, { name: 'issuer_keys' }, false)
    return new Rejection('ISSUER_KEYS_UNAVAILABLE', { retry_after: String(retryAfterSeconds) })
  }

  async #accept(attempt: Attempt): Promise<MintedToken> {
    const { tokens, audit, clock } = this.#options
    const { ground, token, clientNetwork, throwIfGone } = attempt
    const { policy, issuer, key } = ground
    const subject = claimOf(token.claims, 'sub')
    const times = timesOf(token.claims)
    if (issuer === undefined || typeof subject !== 'string' || times === undefined) throw new Error('a step is missing')
    const { policyId, revision: policyRevision, organizationId, settings } = policy
    const { issuerId, revision: issuerRevision } = issuer
    const { workspaceId, keyId } = settings
    const grant = { subject, subjectExpires: times.expires, policyId, issuerId, keyExpires: key?.expireTime }
    const minted = await tokens.mint({ ...grant, target: { workspaceId, keyId } })
    if (minted === undefined) throw this.#refused(attempt, { name: 'lifetime' }, true)
    const { tokenId, timeExpires: expireTime } = minted
    const records = { policyId, policyRevision, issuerId, issuerRevision, workspaceId, keyId }
    const entry = create(AuditEntrySchema, {
      organizationId,
      time: clock.now(),
      event: { case: 'exchangeAccepted', value: { ...records, subject, tokenId, expireTime, clientNetwork } },
    })
    if (!issuer.settings.singleUse) await audit.append(entry)
    else {
      throwIfGone()
      const jti = claimOf(token.claims, 'jti')
      if (typeof jti !== 'string') throw new Error('a step is missing')
      // After all checks, so that a refused token is not used up.
      const isFirst = await audit.appendOnce(entry, { issuerId, jti, timeExpires: times.expires * 1_000 })
      if (!isFirst) throw this.#refused(attempt, { name: 'single_use', found: quoteClaim(jti) }, true)
    }
    return minted
  }

  #refused(attempt: Attempt, failed: Failure, verified: boolean): Rejection {
    this.#record(attempt, failed, verified)
    return new Rejection('GRANT_REFUSED')
  }

  /** Of the token, only what its issuer has signed. */
  #record({ ground, token, clientNetwork }: Attempt, { name, found }: Failure, verified: boolean): void {
    const { organizationId, policyId, settings } = ground.policy
    const isShown = verified || OWN_WORDS.has(name) || (name === 'issuer' && ground.issuer === undefined)
    const refused = create(AuditEntry_ExchangeRefusedSchema, {
      policyId,
      issuerId: ground.issuer?.issuerId,
      keyId: settings.keyId,
      reason: name,
      found: isShown ? found : undefined,
      subject: verified ? requiredClaims(token.claims)?.subject : undefined,
      clientNetwork,
    })
    this.#options.refusals.record(organizationId, refused)
  }

  #recordDeleted(policyId: string, { organizationId, issuerId, keyId }: DeletedPolicy, clientNetwork: string): void {
    const what = { policyId, issuerId, keyId, clientNetwork, reason: 'policy', found: 'deleted' }
    this.#options.refusals.record(organizationId, create(AuditEntry_ExchangeRefusedSchema, what))
  }
}
