// Exchanges tokens and meanwhile changes an issuer and a policy in the store that its environment names, and prints a
// line for each success: `token ACCESS_TOKEN` or `revision RESOURCE_ID REVISION`.

import { Code, ConnectError } from '@connectrpc/connect'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { newTokenKey, signToken } from '#test/support/subject-tokens.ts'
import { silentLogger } from '#test/support/transports.ts'

const service = await open(readConfig(process.env), { clock: systemClock, logger: silentLogger })
const { organizationId, workspaceId } = service.bootstrap
const transport = createLocalTransport(service.routes)
const [identity, federation] = [createClient(IdentityService, transport), createClient(FederationService, transport)]
const admin = callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } })
const key = newTokenKey('ES256', 'k1')
const jwks = JSON.stringify({ keys: [key.jwk] })
const issuerUrl = 'https://issuer.example'

/** Retries for as long as the store is away: a killed process may have left a lock. */
async function retried<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== Code.Unavailable) throw error
    }
  }
}

const { apiKeys } = await identity.listApiKeys({}, admin)
const keyId = apiKeys.find(({ prefix }) => prefix.startsWith('sk-'))?.keyId ?? ''
const source = { case: 'jwks', value: jwks } as const
const created = await retried(() =>
  federation.createIssuer({ organizationId, settings: { name: 'first', issuerUrl, keySource: source } }, admin),
)
const issuerId = created.issuer?.issuerId ?? ''
const settings = { name: 'first', issuerId, subject: 'a workload', audience: 'portico', keyId, enabled: true }
const { policy } = await retried(() => federation.createPolicy({ organizationId, settings }, admin))
const policyId = policy?.policyId ?? ''

async function exchange(): Promise<never> {
  for (;;) {
    const now = Math.floor(systemClock.now() / 1000)
    const claims = { iss: issuerUrl, sub: 'a workload', aud: 'portico', iat: now, exp: now + 900 }
    const request = { federationPolicyId: policyId, subjectToken: signToken(claims, key), clientNetwork: '192.0.2.1' }
    const { accessToken } = await retried(() => federation.exchangeToken(request))
    process.stdout.write(`token ${accessToken}\n`)
  }
}

async function change(): Promise<never> {
  const updateMask = { paths: ['name'] }
  for (let round = 0; ; round++) {
    const name = { settings: { name: `round ${round}` }, updateMask }
    const { issuer } = await retried(() => federation.updateIssuer({ organizationId, issuerId, ...name }, admin))
    process.stdout.write(`revision ${issuerId} ${issuer?.revision}\n`)
    const changed = await retried(() => federation.updatePolicy({ organizationId, policyId, ...name }, admin))
    process.stdout.write(`revision ${policyId} ${changed.policy?.revision}\n`)
  }
}

await Promise.all([exchange(), exchange(), exchange(), exchange(), change()])
