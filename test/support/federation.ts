import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import {
  type IssuerSettings,
  IssuerSettingsSchema,
  type PolicySettings,
  PolicySettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import { openSqliteStores } from '#services/identity/adapters/sqlite/stores.ts'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { Stores } from '#services/identity/ports/stores.ts'
import { openIdentity, type TestIdentity } from '#test/support/identity.ts'
import { newTokenKey, signToken, type TokenKey } from '#test/support/subject-tokens.ts'
import type { Connect } from '#test/support/transports.ts'

/** An identity service with an issuer and a policy. */
export interface TestFederation extends AsyncDisposable {
  readonly identity: TestIdentity
  /** The service's own stores, opened beside it. */
  readonly stores: Stores
  /** The issuer's key pair. */
  readonly key: TokenKey
  readonly issuer: Issuer
  readonly policy: Policy
  /** The target key. */
  readonly keyId: string
  readonly keySecret: string
  addIssuer(more?: Partial<IssuerSettings>): Promise<Issuer>
  addPolicy(more?: Partial<PolicySettings>): Promise<Policy>
  /** A token that the policy admits; `claims` changes it. */
  token(claims?: object): string
  exchange(token?: string, policyId?: string): ReturnType<TestIdentity['federation']['exchangeToken']>
}

const by = { time: 0 }
export const AUDIENCE = 'https://portico.example'

/** Opens a service whose bootstrap organization trusts an issuer with an inline key set. */
export async function openFederation(connect: Connect): Promise<TestFederation> {
  const identity = await openIdentity(connect)
  const { clock, organizationId, workspaceId } = identity
  const stores = openSqliteStores(join(identity.directory, 'identity.sqlite'), clock)
  const key = newTokenKey('ES256', 'k1')
  const { keyId, secret: keySecret } = await identity.create()
  const jwks = JSON.stringify({ keys: [key.jwk] })
  const addIssuer = (more: Partial<IssuerSettings> = {}) => {
    const keySource = { case: 'jwks', value: jwks } as const
    const base = { name: 'an issuer', issuerUrl: 'https://issuer.example', keySource }
    const settings = { ...create(IssuerSettingsSchema, base), ...more }
    return stores.federation.createIssuer(organizationId, `iss_${randomUUID().replaceAll('-', '')}`, () => settings, by)
  }
  const issuer = await addIssuer()
  const addPolicy = (more: Partial<PolicySettings> = {}) => {
    const base = { name: 'a policy', issuerId: issuer.issuerId, subject: 'a workload', audience: AUDIENCE }
    const settings = { ...create(PolicySettingsSchema, { ...base, workspaceId, keyId, enabled: true }), ...more }
    return stores.federation.createPolicy(organizationId, randomUUID(), () => settings, by)
  }
  const policy = await addPolicy()
  const token = (claims: object = {}) => {
    const now = clock.time / 1000
    const good = { iss: issuer.settings.issuerUrl, sub: 'a workload', aud: AUDIENCE, iat: now, exp: now + 300 }
    return signToken({ ...good, ...claims }, key)
  }
  return {
    identity,
    stores,
    key,
    issuer,
    policy,
    keyId,
    keySecret,
    addIssuer,
    addPolicy,
    token,
    exchange: (subjectToken = token(), federationPolicyId = policy.policyId) =>
      identity.federation.exchangeToken({ federationPolicyId, subjectToken, clientNetwork: '192.0.2.1' }),
    async [Symbol.asyncDispose]() {
      await stores[Symbol.asyncDispose]()
      await identity[Symbol.asyncDispose]()
    },
  }
}
