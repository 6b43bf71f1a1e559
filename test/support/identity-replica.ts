import type { CallOptions, Client } from '@connectrpc/connect'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { type Dependencies, open } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { signToken, type TokenKey } from '#test/support/subject-tokens.ts'
import { silentLogger } from '#test/support/transports.ts'

/** Settings of the identity service. */
export type ReplicaSettings = Readonly<Record<string, string>>

/** One of several identity services with one store, by the clock of the machine. */
export interface IdentityReplica extends AsyncDisposable {
  readonly identity: Client<typeof IdentityService>
  readonly federation: Client<typeof FederationService>
  readonly organizationId: string
  /** Options of a call by a management key of the bootstrap organization. */
  readonly admin: CallOptions
}

/** Opens one. Its keys are encrypted with a key that all replicas have. */
export async function openReplica(
  settings: ReplicaSettings,
  limits: Pick<Dependencies, 'fetchLimits'> = {},
): Promise<IdentityReplica> {
  const shared = { PORTICO_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 'k').toString('base64') }
  const dependencies = { clock: systemClock, logger: silentLogger, ...limits }
  const service = await open(readConfig({ ...shared, ...settings }), dependencies)
  const transport = createLocalTransport(service.routes)
  const { organizationId, workspaceId } = service.bootstrap
  return {
    identity: createClient(IdentityService, transport),
    federation: createClient(FederationService, transport),
    organizationId,
    admin: callOptions({ principal: { organizationId, workspaceId, apiKeyId: 'key_admin', kind: 'management' } }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  }
}

const ISSUER_URL = 'https://issuer.example'
const AUDIENCE = 'https://portico.example'

/** What an exchange needs to know of a policy. */
export interface ReplicaPolicy {
  readonly policyId: string
  readonly issuerId: string
  readonly keyId: string
}

/** Registers an issuer with that key, and a policy for a key of its own. */
export async function addPolicy(replica: IdentityReplica, key: TokenKey, singleUse = false): Promise<ReplicaPolicy> {
  const { federation, identity, organizationId, admin } = replica
  const keySource = { case: 'jwks', value: JSON.stringify({ keys: [key.jwk] }) } as const
  const issuer = { name: 'an issuer', issuerUrl: ISSUER_URL, keySource, singleUse }
  const { issuerId = '' } = (await federation.createIssuer({ organizationId, settings: issuer }, admin)).issuer ?? {}
  const { keyId = '' } = (await identity.createApiKey({ kind: 1, name: 'a key' }, admin)).apiKey ?? {}
  const policy = { name: 'a policy', issuerId, subject: 'a workload', audience: AUDIENCE, keyId, enabled: true }
  const { policyId = '' } = (await federation.createPolicy({ organizationId, settings: policy }, admin)).policy ?? {}
  return { policyId, issuerId, keyId }
}

/** A token that such a policy admits. */
export function replicaToken(key: TokenKey, claims: object = {}): string {
  const now = Math.floor(Date.now() / 1000)
  return signToken({ iss: ISSUER_URL, sub: 'a workload', aud: AUDIENCE, iat: now, exp: now + 600, ...claims }, key)
}
