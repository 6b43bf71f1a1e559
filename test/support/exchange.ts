import { create } from '@bufbuild/protobuf'
import {
  type AuditEntry,
  IssuerSchema,
  type IssuerSettings,
  IssuerSettingsSchema,
  Organization_Plan as Plan,
  PolicySchema,
  type PolicySettings,
  PolicySettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { CelConditions } from '#services/identity/adapters/cel/cel-conditions.ts'
import { FetchedIssuerKeys } from '#services/identity/adapters/issuer-keys/fetched-issuer-keys.ts'
import { JoseSignatures } from '#services/identity/adapters/jose-signatures.ts'
import { claimsOf } from '#services/identity/domain/access-token.ts'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { TokenUse } from '#services/identity/ports/audit-log.ts'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import { Exchange, type ExchangeOptions } from '#services/identity/run/exchange/exchange.ts'
import { ExchangeSteps } from '#services/identity/run/exchange/exchange-steps.ts'
import { RefusalLog } from '#services/identity/run/exchange/refusal-log.ts'
import { Rejection } from '#shared/rejection.ts'
import { newTokenKey, signToken, type TokenKey } from '#test/support/subject-tokens.ts'
import { silentLogger } from '#test/support/transports.ts'

export const OUR_ISSUER = 'https://portico.test'
export const POLICY_ID = '11111111-2222-4333-8444-555555555555'
export const NOW = Date.UTC(2026, 0, 1)

type Given<S extends PolicySettings | IssuerSettings, M> = Partial<Omit<S, '$typeName'> & M>

/** A policy and everything around it, as a store would have it. */
export function groundWith(
  key: TokenKey,
  more: {
    policy?: Given<PolicySettings, Pick<Policy, 'policyId'>>
    issuer?: Given<IssuerSettings, Pick<Issuer, 'issuerId' | 'revision'>>
    organizationId?: string
  } = {},
): ExchangeGround & { readonly issuer: Issuer } {
  const { organizationId = 'org_one' } = more
  const { policyId = POLICY_ID, ...policySettings } = more.policy ?? {}
  const { issuerId = 'iss_one', revision = 1, ...issuerSettings } = more.issuer ?? {}
  const written = { organizationId, createTime: NOW, updateTime: NOW }
  const jwks = JSON.stringify({ keys: [key.jwk] })
  return {
    policy: {
      ...create(PolicySchema, { ...written, policyId, revision: 1 }),
      settings: create(PolicySettingsSchema, {
        name: 'a policy',
        issuerId: 'iss_one',
        workspaceId: 'wrk_one',
        keyId: 'key_one',
        enabled: true,
        subject: 'repo:acme/app',
        audience: OUR_ISSUER,
        ...policySettings,
      }),
    },
    issuer: {
      ...create(IssuerSchema, { ...written, issuerId, revision }),
      settings: create(IssuerSettingsSchema, {
        name: 'an issuer',
        issuerUrl: 'https://issuer.test',
        keySource: { case: 'jwks', value: jwks },
        ...issuerSettings,
      }),
    },
    organization: { plan: Plan.ENTERPRISE },
    key: { kind: Kind.WORKSPACE, disabled: false },
  }
}

/** An exchange over stores in memory, with a record of what it did. */
export interface TestExchange extends AsyncDisposable {
  readonly key: TokenKey
  readonly clock: { time: number }
  /** What the store returns for each policy; a test changes it. */
  readonly grounds: Map<string, ExchangeGround>
  readonly entries: AuditEntry[]
  readonly steps: ExchangeSteps
  /** How often policies were looked up, and signatures and tokens of ours made or verified. */
  readonly counts: { lookups: number; verifications: number; minted: number; claims: number }
  /** Set: the keys of issuers cannot be fetched. */
  unavailable: boolean
  /** What appending to the audit log waits for. */
  appended: () => Promise<void>
  /** What minting waits for. */
  minting: () => Promise<void>
  /** Claims of a token that its policy admits. */
  claims(more?: object): Record<string, unknown>
  /** Exchanges a token; by default an admissible one, for a caller that waits. */
  exchange(token?: string, policyId?: string, signal?: AbortSignal): ReturnType<Exchange['exchange']>
  /** The outcome of an exchange: `accepted`, or the reason of the rejection and the true one in the audit log. */
  outcome(token?: string, policyId?: string): Promise<string>
}

/** Its clock stands at 2026-01-01; the key signs with `alg`. */
export function openExchange(alg: TokenKey['alg'] = 'ES256', more: Partial<ExchangeOptions> = {}): TestExchange {
  const key = newTokenKey(alg, 'k1')
  const clock = { time: NOW, now: () => clock.time, monotonic: () => clock.time }
  const counts = { lookups: 0, verifications: 0, minted: 0, claims: 0 }
  const health = { record: async () => {} }
  const keys = new FetchedIssuerKeys({ clock, logger: silentLogger, health, networks: [], ownOrigin: OUR_ISSUER })
  const verifier = new JoseSignatures()
  const steps = new ExchangeSteps({
    keys: {
      problemOf: () => undefined,
      forget: () => {},
      candidates: async (issuer, hint) =>
        test.unavailable
          ? { kind: 'unavailable', problem: 'no answer', retryAfterSeconds: 7 }
          : keys.candidates(issuer, hint),
    },
    signatures: {
      verify(compact, algorithm, candidates) {
        counts.verifications += 1
        return verifier.verify(compact, algorithm, candidates)
      },
    },
    conditions: new CelConditions(),
    ownIssuer: OUR_ISSUER,
  })
  const used = new Set<string>()
  const audit = {
    append: async (entry: AuditEntry) => {
      await test.appended()
      test.entries.push(entry)
    },
    async appendOnce(entry: AuditEntry, { issuerId, jti }: TokenUse) {
      counts.claims += 1
      const use = JSON.stringify([entry.organizationId, issuerId, jti])
      if (used.has(use)) return false
      await audit.append(entry)
      used.add(use)
      return true
    },
  }
  const refusals = new RefusalLog({ audit, clock, logger: silentLogger })
  const exchange = new Exchange({
    federation: {
      async findPolicy(policyId) {
        counts.lookups += 1
        return test.grounds.get(policyId)
      },
    },
    tokens: {
      async mint(grant) {
        counts.minted += 1
        await test.minting()
        const claims = claimsOf(grant, { issuer: OUR_ISSUER, tokenId: `t${counts.minted}`, now: clock.time })
        if (claims === undefined) return undefined
        const { exp, iat, jti: tokenId } = claims
        return { token: JSON.stringify(claims), tokenId, expiresIn: exp - iat, timeExpires: exp * 1000 }
      },
    },

    steps,
    audit,
    refusals,
    clock,
    ...more,
  })
  const test: TestExchange = {
    key,
    clock,
    counts,
    steps,
    entries: [],
    unavailable: false,
    appended: async () => {},
    minting: async () => {},
    grounds: new Map([[POLICY_ID, groundWith(key)]]),
    claims: (claims = {}) => ({
      iss: 'https://issuer.test',
      sub: 'repo:acme/app',
      aud: OUR_ISSUER,

      exp: clock.time / 1000 + 300,
      iat: clock.time / 1000,
      ...claims,
    }),
    exchange: (token = signToken(test.claims(), key), policyId = POLICY_ID, signal = new AbortController().signal) =>
      exchange.exchange({
        policyId,
        subjectToken: token,
        clientNetwork: '192.0.2.1',
        throwIfGone: () => signal.throwIfAborted(),
      }),
    async outcome(token, policyId) {
      const before = test.entries.length
      try {
        await test.exchange(token, policyId)
        return 'accepted'
      } catch (error) {
        if (!(error instanceof Rejection)) throw error
        const [entry] = test.entries.slice(before)
        const event = entry?.event
        return event?.case === 'exchangeRefused' ? `${error.reason} ${event.value.reason}` : error.reason
      }
    },
    async [Symbol.asyncDispose]() {
      await refusals[Symbol.asyncDispose]()
      await keys[Symbol.asyncDispose]()
    },
  }
  return test
}
