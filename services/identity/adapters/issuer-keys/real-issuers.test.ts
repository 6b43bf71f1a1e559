import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { IssuerSchema, IssuerSettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { PublicKey, SignatureAlgorithm } from '#services/identity/domain/public-key.ts'
import { systemClock } from '#shared/clock.ts'
import { type OidcIssuer, startMockServer, startOidcProvider } from '#test/support/oidc-issuers.ts'
import { silentLogger } from '#test/support/transports.ts'
import { FetchedIssuerKeys } from './fetched-issuer-keys.ts'

/** Whether the key signed the token, according to node:crypto alone. */
function signed(token: string, key: PublicKey): boolean {
  const [header, payload, signature = ''] = token.split('.')
  const publicKey = createPublicKey({ key: { ...key }, format: 'jwk' })
  const input = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
  return verify('sha256', Buffer.from(`${header}.${payload}`), input, Buffer.from(signature, 'base64url'))
}

const part = (token: string, index: number) =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString())

const PROVIDERS: readonly (readonly [string, () => Promise<OidcIssuer>])[] = [
  ['oauth2-mock-server', startMockServer],
  ['oidc-provider', startOidcProvider],
]

for (const [name, start] of PROVIDERS) {
  test(`the keys of ${name} are found, and verify its tokens by both algorithms`, async () => {
    await using provider = await start()
    const { url, network } = provider
    await using keys = new FetchedIssuerKeys({
      ...{ clock: systemClock, logger: silentLogger, networks: [network], ownOrigin: undefined },
      health: { record: async () => {} },
    })
    const settings = create(IssuerSettingsSchema, { name, issuerUrl: url })
    const head = { issuerId: 'iss_1', organizationId: 'org_1', revision: 1 }
    const issuer: Issuer = { ...create(IssuerSchema, head), settings }
    assert.equal(keys.problemOf(settings), undefined)
    for (const algorithm of ['RS256', 'ES256'] satisfies SignatureAlgorithm[]) {
      const token = await provider.token('https://portico.example', algorithm, { scopes: ['inference'] })
      const { alg, kid } = part(token, 0)
      const { iss, sub, aud, scopes } = part(token, 1)
      assert.deepEqual(
        [alg, iss, sub, aud, scopes],
        [algorithm, url, 'workload', 'https://portico.example', ['inference']],
      )
      const answer = await keys.candidates(issuer, { algorithm, kid })
      assert.ok(answer.kind === 'found' && answer.keys.length === 1)
      assert.ok(signed(token, answer.keys[0] ?? assert.fail()))
    }
  })
}
