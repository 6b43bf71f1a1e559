import { generateKeyPairSync } from 'node:crypto'
import { ExchangeStep_Verdict as Result } from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { isUsable } from '#services/identity/domain/api-key.ts'
import { hasFederation, PLAN_NAMES } from '#services/identity/domain/organization.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { PublicKey } from '#services/identity/domain/public-key.ts'
import { checkClaims, requiredClaims, scopesOf, tokenTypeOf } from '#services/identity/domain/subject-token/claims.ts'
import {
  checkHeader,
  keyChoiceOf,
  type SubjectToken,
} from '#services/identity/domain/subject-token/read-subject-token.ts'
import {
  checkAudience,
  checkExpiry,
  checkIssuer,
  checkLifetime,
  checkScopes,
  checkSingleUse,
  checkSubject,
  checkTokenType,
} from '#services/identity/domain/subject-token/rules.ts'
import {
  claimOf,
  quoteClaim,
  SKIPPED,
  type Step,
  type StepName,
  stepOf,
  type Verdict,
  verdict,
} from '#services/identity/domain/subject-token/step.ts'
import type { Conditions } from '#services/identity/ports/conditions.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import type { TokenSignatures } from '#services/identity/ports/token-signatures.ts'

export interface ExchangeStepsOptions {
  readonly keys: IssuerKeys
  readonly signatures: Pick<TokenSignatures, 'verify'>
  readonly conditions: Conditions
  /** The issuer of our own tokens. */
  readonly ownIssuer: string
}

/**
 * The outcome for a candidate. `failed`: the first step that failed; undefined: all passed, or nothing failed but the
 * keys of the issuer could not be fetched (`unavailable`: when it is worth trying again). `verified`: the issuer has
 * signed the token. `waited`: its keys had to be fetched first, so that the policy was read a while ago.
 */
export interface Outcome {
  readonly failed: Step | undefined
  readonly verified: boolean
  readonly unavailable: { readonly retryAfterSeconds: number } | undefined
  readonly waited: boolean
}

export interface Evaluation extends Outcome {
  readonly steps: readonly Step[]
}

type NamedCheck = readonly [StepName, (candidate: Candidate) => Verdict]
/** The state of a signature that was not verified. */
const UNKNOWN = { verified: false, unavailable: undefined, waited: false } as const
type Signature = Omit<Outcome, 'failed'> & { readonly verdict: Verdict }

/**
 * A key that has signed nothing: a token that is refused before its signature is verified must take as long as any
 * other.
 */
const NOBODY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }) as PublicKey
const NOTHING = ['{"alg":"ES256"}', '{}', '1'.repeat(64)]
  .map((part) => Buffer.from(part).toString('base64url'))
  .join('.')

/** The checks of an exchange, in their order, for exchanges and rehearsals. */
export class ExchangeSteps {
  readonly #options: ExchangeStepsOptions
  readonly #before: readonly NamedCheck[]
  readonly #after: readonly NamedCheck[]

  constructor(options: ExchangeStepsOptions) {
    this.#options = options
    this.#before = [
      ['policy', checkPolicy],
      ['plan', checkPlan],
      ['key', checkKey],
      ['header', ({ token }) => checkHeader(token.header)],
      ['claims', ({ token }) => checkClaims(token.claims)],
      [
        'issuer',
        ({ token, ground }) => checkIssuer(token.claims, ground.issuer?.settings.issuerUrl, options.ownIssuer),
      ],
    ]
    this.#after = [
      ['expiry', ({ token, ground, now }) => checkExpiry(token.claims, now, ground.issuer?.settings.maxAgeSeconds)],
      ['subject', ({ token, ground }) => checkSubject(token.claims, ground.policy.settings)],
      ['audience', ({ token, ground }) => checkAudience(token.claims, ground.policy.settings)],
      ['scopes', ({ token, ground }) => checkScopes(token.claims, ground.policy.settings)],
      ['token_type', ({ token, ground }) => checkTokenType(token.claims, ground.policy.settings)],
      ['condition', (candidate) => this.#checkCondition(candidate)],
      ['lifetime', ({ token, ground, now }) => checkLifetime(token.claims, ground.key?.expireTime, now)],
      ['single_use', ({ token, ground }) => checkSingleUse(token.claims, ground.issuer?.settings.singleUse ?? false)],
    ]
  }

  /** Stops at the first step that fails. */
  async untilFailure(candidate: Candidate): Promise<Outcome> {
    const before = firstFailure(this.#before, candidate)
    if (before !== undefined) {
      await this.refuse()
      return { failed: before, ...UNKNOWN }
    }
    const { verdict, verified, unavailable, waited } = await this.#checkSignature(candidate)
    if (!verified && unavailable === undefined) return { failed: stepOf('signature', verdict), ...UNKNOWN, waited }
    const failed = firstFailure(this.#after, candidate)
    return { failed, verified, unavailable: failed === undefined ? unavailable : undefined, waited }
  }

  /** Takes every step, even after one has failed. */
  async all(candidate: Candidate): Promise<Evaluation> {
    const before = this.#before.map(([name, check]) => stepOf(name, check(candidate)))
    const { verdict, verified, unavailable, waited } = await this.#checkSignature(candidate)
    const after = this.#after.map(([name, check]) => stepOf(name, check(candidate)))
    const steps = [...before, stepOf('signature', verdict), ...after]
    return { steps, failed: steps.find((step) => step.verdict === Result.FAILED), verified, unavailable, waited }
  }

  /** Takes as long as verifying a signature, for a token that is refused anyway. */
  async refuse(): Promise<void> {
    await this.#options.signatures.verify(NOTHING, 'ES256', [NOBODY])
  }

  async #checkSignature({ token, ground: { issuer } }: Candidate): Promise<Signature> {
    const { keys, signatures } = this.#options
    const choice = keyChoiceOf(token.header)
    if (choice === undefined || issuer === undefined) {
      return { verdict: SKIPPED, ...UNKNOWN }
    }
    const expected = `a signature by a key of ${issuer.settings.issuerUrl}`
    const answer = await keys.candidates(issuer, choice)
    if (answer.kind === 'unavailable') {
      const actual = `its keys could not be fetched: ${answer.problem}`
      return { verdict: verdict(false, () => [expected, actual]), ...UNKNOWN, unavailable: answer }
    }
    const hasKeys = answer.keys.length > 0
    const verified = hasKeys && (await signatures.verify(token.compact, choice.algorithm, answer.keys))
    if (!hasKeys) await this.refuse()
    const failure = hasKeys ? 'another signature' : 'no key of that name'
    const actual = verified ? 'a valid signature' : failure
    return { verdict: verdict(verified, () => [expected, actual]), ...UNKNOWN, verified, waited: answer.waited }
  }

  #checkCondition({ token: { claims }, ground: { policy } }: Candidate): Verdict {
    const required = requiredClaims(claims)
    const expected = policy.settings.condition
    if (expected === undefined || required === undefined) return SKIPPED
    const condition = this.#options.conditions.read(expected)
    if ('problem' in condition) return verdict(false, () => [expected, `the condition ${condition.problem}`])
    const scopes = scopesOf(claims)
    const tokenType = tokenTypeOf(claims)
    if (condition.usesScopes && scopes === undefined) {
      return verdict(false, () => [
        expected,
        `scopes is ${quoteClaim(claimOf(claims, 'scopes'))}, not a list of strings`,
      ])
    }
    if (condition.usesTokenType && tokenType === undefined) {
      return verdict(false, () => [
        expected,
        `token_type is ${quoteClaim(claimOf(claims, 'token_type'))}, not a string`,
      ])
    }
    const { subject, audience } = required
    const variables = { subject, audience, scopes: scopes ?? [], tokenType: tokenType ?? '' }
    const result = condition.evaluate(variables)
    return verdict(result === true, () => {
      const { tokenType: token_type, ...same } = variables
      return [expected, `${result} for ${JSON.stringify({ ...same, token_type })}`]
    })
  }
}

function firstFailure(checks: readonly NamedCheck[], candidate: Candidate): Step | undefined {
  for (const [name, check] of checks) {
    const result = check(candidate)
    if (result.verdict === Result.FAILED) return stepOf(name, result)
  }
  return undefined
}

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

function checkPolicy({ ground: { policy } }: Candidate): Verdict {
  const { enabled } = policy.settings
  return verdict(enabled, () => ['enabled', enabled ? 'enabled' : 'paused'])
}

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
