import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { makeCertificate } from '#test/support/certificate.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { type OidcIssuer, startMockServer, startOidcProvider } from '#test/support/oidc-issuers.ts'
import { KEYS, runToEnd, scratchDirectory } from '#test/support/processes.ts'
import { type Product, type Setting, startSingle, startSplit } from '#test/support/product.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT = 'urn:ietf:params:oauth:token-type:jwt'
const AUDIENCE = 'https://portico.example'

/**
 * The clients that exchange tokens: third-party ones, as they come from npm. Each returns the access token and its
 * lifetime.
 */
const CLIENTS: Readonly<
  Record<string, (url: string, policyId: string, subjectToken: string) => Promise<{ token: string; seconds: number }>>
> = {
  async oauth4webapi(url, policyId, subjectToken) {
    const server = { issuer: url, token_endpoint: `${url}/api/v1/oauth/token` }
    const client = { client_id: 'a client' }
    const form = { federation_policy_id: policyId, subject_token: subjectToken, subject_token_type: JWT }
    const options = { [oauth.allowInsecureRequests]: true }
    const response = await oauth.genericTokenEndpointRequest(server, client, oauth.None(), GRANT, form, options)
    const answer = await oauth.processGenericTokenEndpointResponse(server, client, response)
    return { token: answer.access_token, seconds: answer.expires_in ?? 0 }
  },
  async 'openid-client'(url, policyId, subjectToken) {
    const server = { issuer: url, token_endpoint: `${url}/api/v1/oauth/token` }
    const config = new openid.Configuration(server, 'a client', undefined, openid.None())
    openid.allowInsecureRequests(config)
    const form = { federation_policy_id: policyId, subject_token: subjectToken, subject_token_type: JWT }
    const answer = await openid.genericGrantRequest(config, GRANT, form)
    return { token: answer.access_token, seconds: answer.expiresIn() ?? 0 }
  },
  async '@openrouter/sdk'(url, policyId, subjectToken) {
    const client = new OpenRouter({ serverURL: `${url}/api/v1`, retryConfig: { strategy: 'none' } })
    const request = { grantType: GRANT, subjectTokenType: JWT, federationPolicyId: policyId, subjectToken } as const
    const { accessToken, expiresIn } = await client.oAuth.createOauthToken({ tokenExchangeRequest: request })
    return { token: accessToken, seconds: expiresIn }
  },
}

describe('clients and issuers from npm, in one process on SQLite', () => {
  const data = scratchDirectory()
  clientsAndIssuers(startSingle, { PORTICO_DATA_DIR: data.path })
  after(() => data[Symbol.dispose]())
})

describe('clients and issuers from npm, between five processes on MongoDB', { skip: skipWithoutMongo }, () => {
  const [database, uri] = [freshDatabaseName(), mongoUri() ?? '']
  const store = { PORTICO_MONGODB_URI: uri, PORTICO_MONGODB_DATABASE: database }
  clientsAndIssuers((setting) => startSplit(uri, setting), store)
  after(() => dropDatabase(database))
})

function clientsAndIssuers(start: (setting: Setting) => Promise<Product>, store: Record<string, string>): void {
  const folder = scratchDirectory()
  let issuers: Readonly<Record<string, OidcIssuer>>
  let product: Product
  let ids: { readonly organizationId: string; readonly keyId: string }

  before(async () => {
    const certificate = makeCertificate()
    const [mock, provider] = [await startMockServer(certificate), await startOidcProvider(certificate)]
    issuers = { 'oauth2-mock-server': mock, 'oidc-provider': provider }
    const project = join(folder.path, 'project')
    mkdirSync(project)
    const environment = {
      ...store,
      PORTICO_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 'k').toString('base64'),
      PORTICO_FEDERATION_NETWORKS: JSON.stringify([mock.network]),
    }
    const dataDirectory = store.PORTICO_DATA_DIR ?? join(folder.path, 'data')
    product = await start({ project, dataDirectory, environment })
    const [organizations, keys] = await Promise.all([
      runToEnd('cli/org.ts', ['list'], environment),
      runToEnd('cli/key.ts', ['list'], environment),
    ])
    const [organizationId = ''] = /org_\w+/.exec(organizations.stdout) ?? []
    const [, keyId = ''] = /^(key_\w+) .* workspace /m.exec(keys.stdout) ?? []
    ids = { organizationId, keyId }
  })

  after(async () => {
    await product?.stop()
    for (const issuer of Object.values(issuers ?? {})) await issuer[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function send(method: string, path: string, body: object | undefined, key = KEYS.management) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${product.url}/api/v1${path}`, {
      method,
      headers,
      body: JSON.stringify(body) ?? null,
    })
    const text = await response.text()
    assert.ok(response.ok, text)
    return JSON.parse(text)
  }

  for (const name of ['oauth2-mock-server', 'oidc-provider']) {
    test(`every client exchanges tokens of ${name}, and sends a request with the result`, async () => {
      const issuer = issuers[name] ?? assert.fail()
      const path = `/organizations/${ids.organizationId}`
      const { id: issuerId } = (await send('POST', `${path}/issuers`, { name, issuer_url: issuer.url })).data
      const settings = { name, issuer_id: issuerId, audience: AUDIENCE, key_id: ids.keyId }
      const condition = 'subject == "workload" && "inference" in scopes'
      const { id: policyId } = (await send('POST', `${path}/policies`, { ...settings, condition })).data
      const scopes = { scopes: ['inference'] }
      for (const [client, exchange] of Object.entries(CLIENTS)) {
        for (const algorithm of ['RS256', 'ES256'] as const) {
          const { token, seconds } = await exchange(
            product.url,
            policyId,
            await issuer.token(AUDIENCE, algorithm, scopes),
          )
          assert.ok(Number.isInteger(seconds) && seconds > 200 && seconds <= 900, `${client}: ${seconds} s`)
          const asked = { model: 'portico/echo', input: '/length 2' }
          const answer = await send('POST', '/responses', asked, token)
          assert.equal(answer.status, 'completed')
          // Its usage is the target key's.
          const found = await send('GET', `/generation?id=${answer.id.replace('resp_', 'gen-')}`, undefined, token)
          assert.equal(found.data.api_key_id, ids.keyId)
        }
        const refused = await issuer.token(AUDIENCE, 'RS256', { scopes: ['other'] })
        await assert.rejects(exchange(product.url, policyId, refused), (error: Error) => {
          const { error: code } = error as Error & { readonly error?: unknown }
          assert.match(`${code} ${error.message}`, /invalid_grant|not accepted/, client)
          return true
        })
      }
    })
  }
}
