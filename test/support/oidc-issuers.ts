import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { OAuth2Server } from 'oauth2-mock-server'
import { Provider } from 'oidc-provider'
import type { FederationNetwork } from '#services/identity/domain/issuer-keys/address.ts'
import type { SignatureAlgorithm } from '#services/identity/domain/public-key.ts'
import { makeCertificate, type TestCertificate } from './certificate.ts'
import { scratchDirectory } from './processes.ts'

/** A third-party identity provider, on the loopback over https. */
export interface OidcIssuer extends AsyncDisposable {
  readonly url: string
  /** As in PORTICO_FEDERATION_NETWORKS. */
  readonly network: FederationNetwork
  /** A token for an audience with the given claims; its subject is `workload`. */
  token(audience: string, algorithm: SignatureAlgorithm, claims?: Record<string, unknown>): Promise<string>
}

/** oauth2-mock-server, with a key for each algorithm. */
export async function startMockServer(certificate = makeCertificate()): Promise<OidcIssuer> {
  const { folder, network, keyFile, certFile } = files(certificate)
  const server = new OAuth2Server(keyFile, certFile)
  for (const algorithm of ['RS256', 'ES256']) await server.issuer.keys.generate(algorithm, { kid: algorithm })
  await server.start(0, '127.0.0.1')
  // It calls itself localhost, which is not in DNS.
  const url = server.issuer.url ?? ''
  return {
    url,
    network: { ...network, hosts: { [new URL(url).host]: {} } },
    token: (aud, kid, claims = {}) => {
      const scopesOrTransform = (_header: unknown, payload: object): void => {
        Object.assign(payload, { aud, sub: 'workload' }, claims)
      }
      return server.issuer.buildToken({ kid, scopesOrTransform })
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      folder[Symbol.dispose]()
    },
  }
}

/** oidc-provider, with a client named `workload` that gets its tokens by client credentials. */
export async function startOidcProvider(certificate = makeCertificate()): Promise<OidcIssuer> {
  const { folder, network } = files(certificate)
  const pairs = {
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    RS256: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  }
  const keys = Object.entries(pairs).map(([kid, { privateKey }]) => ({ ...privateKey.export({ format: 'jwk' }), kid }))
  let wanted: { alg: SignatureAlgorithm; claims: Record<string, unknown> } = { alg: 'ES256', claims: {} }
  const server = createServer(certificate)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = { client_id: 'workload', client_secret: 'secret-of-workload' }
  const provider = new Provider(url, {
    clients: [{ ...client, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    jwks: { keys },
    extraTokenClaims: () => wanted.claims,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, audience) => {
          const jwt = { sign: { alg: wanted.alg } }
          return { scope: '', audience, accessTokenFormat: 'jwt', accessTokenTTL: 300, jwt }
        },
      },
    },
  })
  server.on('request', provider.callback())
  return {
    url,
    network,
    async token(audience, alg, claims = {}) {
      wanted = { alg, claims }
      const form = new URLSearchParams({ grant_type: 'client_credentials', resource: audience, ...client })
      const asked = request(`${url}/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        ca: certificate.cert,
      }).end(`${form}`)
      const [response] = await once(asked, 'response')
      const answer = (await json(response)) as { access_token?: string }
      if (answer.access_token === undefined) throw new Error(JSON.stringify(answer))
      return answer.access_token
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      folder[Symbol.dispose]()
    },
  }
}

function files(certificate: TestCertificate) {
  const folder = scratchDirectory()
  const [keyFile, certFile] = ['key.pem', 'cert.pem'].map((name) => join(folder.path, name)) as [string, string]
  writeFileSync(keyFile, certificate.key)
  writeFileSync(certFile, certificate.cert)
  const network: FederationNetwork = { networks: ['127.0.0.0/8', '::1/128'], caFile: certFile, hosts: {} }
  return { folder, keyFile, certFile, network }
}
