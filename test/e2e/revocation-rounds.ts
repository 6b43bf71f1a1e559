import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, ConnectError } from '@connectrpc/connect'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { type AuthenticateRequest, IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { JoseSignatures } from '#services/identity/adapters/jose-signatures.ts'
import { readConfig } from '#services/identity/config.ts'
import { open } from '#services/identity/open.ts'
import { AccessTokens } from '#services/identity/run/access-token/access-tokens.ts'
import { systemClock } from '#shared/clock.ts'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { reasonOf } from '#shared/reasons.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { dropDatabase, freshDatabaseName, mongoUri } from '#test/support/mongo.ts'
import { KEYS, startProcess } from '#test/support/processes.ts'
import { grantAt, KEY_A, openBeside, openRing } from '#test/support/signing.ts'
import { silentLogger } from '#test/support/transports.ts'

type Credential = AuthenticateRequest['credential'] & { readonly value: string }

/** Two ways into one deployment, each with an identity service of its own. */
export interface Deployment extends AsyncDisposable {
  readonly identities: readonly Client<typeof IdentityService>[]
  /** Whether a credential is accepted through one of the gateways. */
  readonly ways: readonly ((credential: Credential) => Promise<boolean>)[]
  mint(target: { readonly workspaceId: string; readonly keyId: string }): Promise<string>
}

/** What a series of rounds did. */
export interface RevocationReport {
  readonly rounds: number
  /** Requests that were in progress while the key changed, and may have gone either way. */
  readonly between: number
}

/**
 * Disables and enables a key again and again, through one identity service and then the other, while requests with it
 * and with tokens that act as it keep coming through all gateways. From the moment that a change is answered, every new
 * request through every gateway has to obey it; in the end the key is deleted. The tokens are ones that have been
 * verified before.
 */
export async function revocationRounds(deployment: Deployment, rounds: number): Promise<RevocationReport> {
  const { identities, ways } = deployment
  const operator = await operatorOf(identities[0])
  const request = { kind: Principal_Kind.WORKSPACE, name: 'revoked and enabled' }
  const { apiKey, secret } = (await identities[0]?.createApiKey(request, operator)) ?? {}
  const { keyId = '', workspaceId = '' } = apiKey ?? {}
  const token = await deployment.mint({ workspaceId, keyId })
  const credentials: Credential[] = [
    { case: 'apiKey', value: secret ?? '' },
    { case: 'accessToken', value: token },
  ]
  const askAll = () => Promise.all(ways.flatMap((ask) => credentials.map((credential) => ask(credential))))
  let [between, done] = [0, false]
  const load = ways.flatMap((ask) =>
    credentials.map(async (credential) => {
      for (; !done; between++) {
        await ask(credential)
        await sleep(1)
      }
    }),
  )
  const updateMask = { paths: ['disabled'] }
  try {
    for (let round = 0; round < rounds; round++) {
      for (const disabled of [true, false]) {
        await identities[round % identities.length]?.updateApiKey({ keyId, disabled, updateMask }, operator)
        const taken = await askAll()
        const where = `round ${round}, ${disabled ? 'disabled' : 'enabled'}`
        assert.deepEqual(taken, Array(taken.length).fill(!disabled), where)
      }
    }
    await identities[0]?.deleteApiKey({ keyId }, operator)
    const taken = await askAll()
    assert.deepEqual(taken, Array(taken.length).fill(false), 'deleted')
  } finally {
    done = true
    await Promise.all(load)
  }
  return { rounds, between }
}

async function operatorOf(client: Client<typeof IdentityService> | undefined) {
  const answer = await client?.authenticate({ credential: { case: 'localOperator', value: {} } })
  const { organizationId = '', workspaceId = '' } = answer?.principal ?? {}
  return callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } })
}

/** Two identity services in this process, on one data folder. */
export async function openTwoOnSqlite(): Promise<Deployment> {
  const stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'portico-revocation-'))
  stack.defer(() => rm(directory, { recursive: true }))
  const dependencies = { clock: systemClock, logger: silentLogger }
  const config = readConfig({ PORTICO_DATA_DIR: directory })
  const identities: Client<typeof IdentityService>[] = []
  for (let index = 0; index < 2; index++) {
    const { routes } = stack.use(await open(config, dependencies))
    identities.push(createClient(IdentityService, createLocalTransport(routes)))
  }
  const { tokens } = stack.use(await openBeside(directory, systemClock))
  const ways = identities.map((client) => async (credential: Credential) => {
    try {
      return (await client.authenticate({ credential })).principal !== undefined
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error
      assert.equal(reasonOf(error)?.reason, 'CREDENTIAL_REFUSED')
      return false
    }
  })
  return {
    identities,
    ways,
    mint: (target) => mintWith(tokens, target),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Two identity services and two gateways, each a process of its own, on MongoDB. */
export async function startTwoOnMongo(): Promise<Deployment> {
  const stack = new AsyncDisposableStack()
  const database = freshDatabaseName()
  stack.defer(() => dropDatabase(database))
  const secret = randomBytes(24).toString('hex')
  const environment = {
    PORTICO_MONGODB_URI: mongoUri() ?? '',
    PORTICO_MONGODB_DATABASE: database,
    PORTICO_SERVICE_PORT: '0',

    PORTICO_INTERNAL_SECRET: secret,
    PORTICO_PORT: '0',
    PORTICO_LOG_LEVEL: 'info',
    PORTICO_AUTH: 'bearer',

    PORTICO_KEY_ENCRYPTION_KEY: KEY_A,
    PORTICO_PUBLIC_URL: 'https://portico.example',

    PORTICO_BOOTSTRAP_API_KEY: KEYS.api,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: KEYS.management,
  }
  const start = async (entry: string, more = {}) => {
    const process = await startProcess(entry, { ...environment, ...more })
    stack.defer(() => process.kill())
    return process.url
  }
  const urls = await Promise.all([0, 1].map(() => start('services/identity/main.ts')))
  const gateways = await Promise.all(urls.map((url) => start('gateway/main.ts', { PORTICO_IDENTITY_URL: url })))
  const identities = urls.map((url) => createClient(IdentityService, stack.use(createHttp2Transport({ url, secret }))))
  const place = { uri: environment.PORTICO_MONGODB_URI, database }
  const { ring } = stack.use(await openRing(place, systemClock))
  const tokens = new AccessTokens({
    signatures: new JoseSignatures(),
    ring,
    issuer: environment.PORTICO_PUBLIC_URL,
    clock: systemClock,
  })
  const ways = gateways.map((url) => async ({ value }: Credential) => {
    const headers = { authorization: `Bearer ${value}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/api/v1/responses`, { method: 'POST', headers, body: '{"model":1}' })
    await answer.arrayBuffer()
    // A known caller learns what is wrong with the body; an unknown one may have to wait.
    assert.ok([400, 401, 429].includes(answer.status), String(answer.status))
    return answer.status === 400
  })
  return {
    identities,
    ways,
    mint: (target) => mintWith(tokens, target),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function mintWith(tokens: AccessTokens, target: Parameters<Deployment['mint']>[0]): Promise<string> {
  const minted = await tokens.mint(grantAt(systemClock.now(), { target }))
  return minted?.token ?? assert.fail('no token was made')
}
