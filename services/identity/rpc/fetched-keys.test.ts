import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { IssuerSettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import { JWKS_PATH, json, publishes, startIssuer, type TestIssuer } from '#test/support/https-issuer.ts'
import { type IdentityReplica, openReplica, type ReplicaSettings } from '#test/support/identity-replica.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { newTokenKey, signToken, type TokenKey } from '#test/support/subject-tokens.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const AUDIENCE = 'https://portico.example'
type Settings = MessageInitShape<typeof IssuerSettingsSchema>

/** Registers a server as an issuer, with a policy for its tokens. */
async function register(
  { federation, identity, organizationId, admin }: IdentityReplica,
  { url }: Pick<TestIssuer, 'url'>,
) {
  const settings: Settings = { name: 'an issuer', issuerUrl: url }
  const { issuerId = '' } = (await federation.createIssuer({ organizationId, settings }, admin)).issuer ?? {}
  const { keyId = '' } = (await identity.createApiKey({ kind: 1, name: 'a key' }, admin)).apiKey ?? {}
  const policy = { name: 'a policy', issuerId, subject: 'a workload', audience: AUDIENCE, keyId, enabled: true }
  const { policyId = '' } = (await federation.createPolicy({ organizationId, settings: policy }, admin)).policy ?? {}
  const change = (settings: Settings, ...paths: string[]) =>
    federation.updateIssuer({ organizationId, issuerId, settings, updateMask: { paths } }, admin)
  const exchange = (replica: IdentityReplica, key: TokenKey) => {
    const now = Math.floor(Date.now() / 1_000)
    const claims = { iss: url, sub: 'a workload', aud: AUDIENCE, iat: now, exp: now + 600 }
    const subjectToken = signToken(claims, key)
    return replica.federation.exchangeToken({ federationPolicyId: policyId, subjectToken, clientNetwork: '192.0.2.1' })
  }
  const healthBy = async (replica: IdentityReplica) =>
    (await replica.federation.getIssuer({ organizationId, issuerId }, replica.admin)).issuer?.keyHealth
  const remove = () => federation.deleteIssuer({ organizationId, issuerId }, admin)
  return { change, exchange, healthBy, remove }
}

/** Longer than a busy machine takes for 50 exchanges. */
const LONG = { fetchMs: 120_000, patience: { unknownMs: 120_000, knownMs: 100 } }

interface Place extends AsyncDisposable {
  readonly settings: ReplicaSettings
}

function suite(store: string, open: () => Place, options = {}): void {
  describe(`keys that are fetched, on ${store}`, options, () => {
    /** Two replicas that may have issuers on the loopback. */
    async function start(server: TestIssuer, resources: AsyncDisposableStack) {
      const { settings } = resources.use(open())
      const all = { ...settings, PORTICO_FEDERATION_NETWORKS: JSON.stringify([server.network]) }
      const first = resources.use(await openReplica(all, { fetchLimits: LONG }))
      return [first, resources.use(await openReplica(all, { fetchLimits: LONG }))] as const
    }

    test('50 first exchanges at once make one discovery and one fetch of keys per process', async () => {
      await using resources = new AsyncDisposableStack()
      const server = resources.use(await startIssuer())
      const key = newTokenKey('ES256', 'k1')
      server.answer = publishes(server.url, () => [key.jwk])
      const replicas = await start(server, resources)
      const { exchange } = await register(replicas[0], server)
      assert.equal(server.connections, 0, 'to save asks nobody')
      const exchanges = replicas.flatMap((replica) => Array.from({ length: 50 }, () => exchange(replica, key)))
      for (const { expiresInSeconds } of await Promise.all(exchanges)) assert.ok(expiresInSeconds > 500)
      const paths = server.seen.map(({ path }) => path).sort()
      const discovery = '/.well-known/openid-configuration'
      assert.deepEqual(paths, [discovery, discovery, JWKS_PATH, JWKS_PATH])
    })

    test('a changed address of keys counts from the next exchange on, through every replica', async () => {
      await using resources = new AsyncDisposableStack()
      const server = resources.use(await startIssuer())
      const [older, newer] = [newTokenKey('ES256', 'k1'), newTokenKey('ES256', 'k1')]
      const answer = publishes(server.url, () => [older.jwk])
      server.answer = (path, response) =>
        path === '/newer' ? json(response, { keys: [newer.jwk] }) : answer(path, response)
      const replicas = await start(server, resources)
      const { exchange, change } = await register(replicas[0], server)
      for (const replica of replicas) await exchange(replica, older)
      for (let round = 0; round < 3; round++) {
        await change({ keySource: { case: 'jwksUrl', value: `${server.url}/newer` } }, 'jwks_url')
        for (const replica of replicas.toReversed()) {
          assert.equal((await refusalOf(exchange(replica, older))).reason, 'GRANT_REFUSED')
          await exchange(replica, newer)
        }
        await change({ keySource: { case: 'discovery', value: {} } }, 'discovery')
        for (const replica of replicas.toReversed()) {
          assert.equal((await refusalOf(exchange(replica, newer))).reason, 'GRANT_REFUSED')
          await exchange(replica, older)
        }
      }
    })

    test('an issuer shows through every replica how fetching its keys went', async () => {
      await using resources = new AsyncDisposableStack()
      const server = resources.use(await startIssuer())
      const key = newTokenKey('RS256', 'k1')
      const [one, other] = await start(server, resources)
      const { exchange, healthBy, change } = await register(one, server)
      assert.equal(await healthBy(other), undefined)
      const { code, reason } = await refusalOf(exchange(one, key))
      assert.deepEqual([code, reason], ['Unavailable', 'ISSUER_KEYS_UNAVAILABLE'])
      const failed = await waitUntil('the failure', () => healthBy(other))
      assert.equal(failed.lastFailure, `${server.url}/.well-known/openid-configuration: responded with status 404`)
      assert.equal(failed.lastSuccessTime, undefined)
      assert.ok((failed.nextTryTime ?? 0) >= (failed.lastFailureTime ?? 1))
      server.answer = publishes(server.url, () => [key.jwk])
      await waitUntil('keys that are fetched again', () => exchange(one, key).catch(() => undefined))
      const mended = await waitUntil('the success', async () => {
        const health = await healthBy(other)
        return health?.lastSuccessTime === undefined ? undefined : health
      })
      assert.equal(mended.lastFailure, failed.lastFailure)
      // What is known about keys from elsewhere does not apply to these.
      await change({ keySource: { case: 'jwksUrl', value: `${server.url}/newer` } }, 'jwks_url')
      assert.equal(await healthBy(other), undefined)
    })

    test('exchanges that wait for the keys of an issuer end once it is deleted', async () => {
      await using resources = new AsyncDisposableStack()
      const server = resources.use(await startIssuer())
      server.answer = () => {}
      const [replica] = await start(server, resources)
      const key = newTokenKey('ES256', 'k1')
      const waiting: Promise<string>[] = []
      const exchanging = async (name: string) => {
        const { exchange, remove } = await register(replica, { url: `${server.url}/${name}` })
        waiting.push(refusalOf(exchange(replica, key)).then(({ reason }) => `${name}: ${reason}`))
        return remove
      }
      for (let i = 0; i < 4; i++) await exchanging(`hangs-${i}`)
      await waitUntil('4 of them hang', async () => server.open === 4 || undefined)
      const remove = await exchanging('deleted')
      await remove()
      assert.match(await Promise.race(waiting), /^deleted: /)
    })

    test('issuers in private networks are refused unless the settings permit them', async () => {
      await using server = await startIssuer()
      await using place = open()
      await using replica = await openReplica(place.settings)
      const { metadata } = await refusalOf(register(replica, server))
      assert.deepEqual(metadata, { field: 'issuer_url', problem: 'must name a host, not an IP address' })
    })
  })
}

suite('SQLite', () => {
  const folder = scratchDirectory()
  return {
    settings: { PORTICO_DATA_DIR: folder.path },
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
})

suite(
  'MongoDB',
  () => {
    const database = freshDatabaseName()
    return {
      settings: { PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database },
      [Symbol.asyncDispose]: () => dropDatabase(database),
    }
  },
  { skip: skipWithoutMongo },
)
