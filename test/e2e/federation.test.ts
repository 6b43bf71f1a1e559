import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { dropDatabase, freshDatabaseName, mongoUri } from '#test/support/mongo.ts'
import { type OidcIssuer, startMockServer, startOidcProvider } from '#test/support/oidc-issuers.ts'
import { KEYS, runToEnd, scratchDirectory } from '#test/support/processes.ts'
import { type Product, type Setting, startSingle, startSplit } from '#test/support/product.ts'

const AUDIENCE = 'https://portico.example'
const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT = 'urn:ietf:params:oauth:token-type:jwt'

for (const [name, startIssuer] of [
  ['oauth2-mock-server', startMockServer],
  ['oidc-provider', startOidcProvider],
] as const) {
  describe(`federation in one process on SQLite, tokens of ${name}`, () => {
    whatClientsDo(startIssuer, startSingle, ({ dataDirectory }) => ({ PORTICO_DATA_DIR: dataDirectory }))
  })
}

describe('federation in five processes on MongoDB, tokens of oidc-provider', {
  skip: mongoUri() === undefined && 'no MongoDB server',
}, () => {
  const database = freshDatabaseName()
  const uri = mongoUri() ?? ''
  const own = {
    PORTICO_MONGODB_DATABASE: database,
    PORTICO_KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    // The name by which clients know them, for services of their own.
    PORTICO_PUBLIC_URL: 'http://portico.test',
  }
  whatClientsDo(
    startOidcProvider,
    (setting) => startSplit(uri, { ...setting, environment: { ...setting.environment, ...own } }),
    () => ({ ...own, PORTICO_MONGODB_URI: uri }),
  )
  after(() => dropDatabase(database))
})

/** Clients and identity providers as they come from npm, the providers over https. */
function whatClientsDo(
  startIssuer: () => Promise<OidcIssuer>,
  start: (setting: Setting) => Promise<Product>,
  storeOf: (setting: Setting) => Record<string, string>,
): void {
  const data = scratchDirectory()
  const project = scratchDirectory()
  const issuers: OidcIssuer[] = []
  const policies: string[] = []
  let product: Product

  before(async () => {
    issuers.push(await startIssuer())
    const networks = JSON.stringify(issuers.map(({ network }) => network))
    const setting = {
      ...{ dataDirectory: data.path, project: project.path },
      environment: { PORTICO_FEDERATION_NETWORKS: networks },
    }
    product = await start(setting)
    const run = async (script: string): Promise<string> =>
      (await runToEnd(process.execPath, [`scripts/${script}.ts`, 'list'], storeOf(setting))).stdout
    const [organization] = /org_\w+/.exec(await run('org')) ?? []
    const [, keyId] = /(key_\w+) {2}(?!mk-).* workspace /.exec(await run('key')) ?? []
    const create = async (path: string, body: object): Promise<string> => {
      const answer = await fetch(`${product.url}/api/v1/organizations/${organization}/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.management}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const { data, ...refused } = (await answer.json()) as { data?: { id: string } }
      return data?.id ?? assert.fail(JSON.stringify(refused))
    }
    for (const { url } of issuers) {
      const issuerId = await create('issuers', { name: url, issuer_url: url })
      const policy = { name: url, issuer_id: issuerId, audience: AUDIENCE, condition: '"ci" in scopes', key_id: keyId }
      policies.push(await create('policies', policy))
    }
  })
  after(async () => {
    await product?.stop()
    for (const issuer of issuers) await issuer[Symbol.asyncDispose]()
    for (const folder of [data, project]) folder[Symbol.dispose]()
  })

  /** For each provider and algorithm, what a client sends. */
  async function* exchanges() {
    for (const [i, issuer] of issuers.entries()) {
      for (const algorithm of ['RS256', 'ES256'] as const) {
        const subjectToken = await issuer.token(AUDIENCE, algorithm, { scopes: ['ci'] })
        yield { subject_token: subjectToken, subject_token_type: JWT, federation_policy_id: policies[i] ?? '' }
      }
    }
  }

  const respond = async (accessToken: string): Promise<void> => {
    const client = new OpenRouter({
      ...{ apiKey: accessToken, serverURL: `${product.url}/api/v1`, retryConfig: { strategy: 'none' } },
    })
    const response = await client.responses.send({ responsesRequest: { model: 'portico/echo', input: '/length 2' } })
    assert.ok('outputText' in response && response.outputText === 'the quick')
  }

  test('@openrouter/sdk exchanges, and responds with what it got; the key set has the key that signed', async () => {
    const client = new OpenRouter({ serverURL: `${product.url}/api/v1`, retryConfig: { strategy: 'none' } })
    const urns = { grantType: GRANT, subjectTokenType: JWT } as const
    for await (const { subject_token, federation_policy_id } of exchanges()) {
      const { accessToken, expiresIn } = await client.oAuth.createOauthToken({
        tokenExchangeRequest: {
          ...{ ...urns, subjectToken: subject_token, federationPolicyId: federation_policy_id },
        },
      })
      assert.ok(expiresIn > 0 && expiresIn <= 900)
      await respond(accessToken)
      const { kid } = JSON.parse(Buffer.from(accessToken.split('.')[0] ?? '', 'base64url').toString())
      const { keys } = await client.oAuth.listOauthJwks()
      assert.ok(keys.some((key) => key.kid === kid))
    }
  })

  test('oauth4webapi exchanges, and reads what is refused', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const server = { issuer: product.url, token_endpoint: `${product.url}/api/v1/oauth/token` }
    const client = { client_id: 'workload' }
    const exchange = async (parameters: Record<string, string>) => {
      const answer = await oauth.genericTokenEndpointRequest(server, client, oauth.None(), GRANT, parameters, insecure)
      return oauth.processGenericTokenEndpointResponse(server, client, answer)
    }
    for await (const parameters of exchanges()) {
      const { access_token: accessToken, token_type: type } = await exchange(parameters)
      assert.equal(type, 'bearer')
      await respond(accessToken)
      const refused = exchange({ ...parameters, subject_token: `${parameters.subject_token.slice(0, -8)}AAAAAAAA` })
      await assert.rejects(refused, (error: unknown) => {
        assert.ok(error instanceof oauth.ResponseBodyError)
        const { status, error: code, error_description: description } = error
        assert.deepEqual([status, code, description], [400, 'invalid_grant', 'The subject token was not accepted.'])
        return true
      })
    }
  })

  test('openid-client exchanges', async () => {
    const metadata = { issuer: product.url, token_endpoint: `${product.url}/api/v1/oauth/token` }
    const configuration = new openid.Configuration(metadata, 'workload', undefined, openid.None())
    openid.allowInsecureRequests(configuration)
    for await (const parameters of exchanges()) {
      const tokens = await openid.genericGrantRequest(configuration, GRANT, parameters)
      assert.ok((tokens.expiresIn() ?? 0) > 0)
      await respond(tokens.access_token)
    }
  })

  test('the metadata are those of an authorization server', async () => {
    const answer = await fetch(`${product.url}/.well-known/oauth-authorization-server`)
    const { issuer } = (await answer.clone().json()) as { issuer: string }
    const server = await oauth.processDiscoveryResponse(new URL(issuer), answer)
    assert.equal(server.token_endpoint, `${issuer}/api/v1/oauth/token`)
    assert.equal(server.jwks_uri, `${issuer}/api/v1/oauth/jwks`)
  })
}
