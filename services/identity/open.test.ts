import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { systemClock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import type { Environment } from '#shared/config/variables.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { silentLogger } from '#test/support/transports.ts'
import { readConfig } from './config.ts'
import { type Opened, open } from './open.ts'

interface Place extends AsyncDisposable {
  readonly env: Environment
}

const start = (place: Place, env: Environment = {}): Promise<Opened> =>
  open(readConfig({ ...place.env, ...env }), { clock: systemClock, logger: silentLogger })

function kindOf(identity: Opened, key: string) {
  const client = createClient(IdentityService, createLocalTransport(identity.routes))
  return client.authenticate({ credential: { case: 'apiKey', value: key } })
}

function suite(name: string, create: () => Promise<Place>, options = {}): void {
  describe(`the first keys, on ${name}`, options, () => {
    test('the first start creates both keys and shows them once', async () => {
      await using place = await create()
      await using first = await start(place)
      const { createdManagementKey, createdApiKey, workspaceId } = first.bootstrap
      assert.match(createdManagementKey ?? '', /^mk-portico-[0-9A-Za-z]{40}$/)
      assert.match(createdApiKey ?? '', /^sk-portico-[0-9A-Za-z]{40}$/)
      await using second = await start(place)
      assert.deepEqual([second.bootstrap.createdManagementKey, second.bootstrap.createdApiKey], [undefined, undefined])
      assert.equal(second.bootstrap.workspaceId, workspaceId)
      const { principal } = await kindOf(second, createdApiKey ?? '')
      assert.equal(principal?.workspaceId, workspaceId)
    })

    test('a key that the operator chose is not shown, and the other one is still created', async () => {
      await using place = await create()
      const key = 'sk-chosen-by-the-operator'
      await using identity = await start(place, { PORTICO_BOOTSTRAP_API_KEY: key })
      assert.equal(identity.bootstrap.createdApiKey, undefined)
      assert.notEqual(identity.bootstrap.createdManagementKey, undefined)
      assert.equal((await kindOf(identity, key)).principal?.workspaceId, identity.bootstrap.workspaceId)
    })

    test('keys chosen on a later start exist beside the earlier ones', async () => {
      await using place = await create()
      const earlier = 'sk-chosen-at-the-beginning'
      await using first = await start(place, { PORTICO_BOOTSTRAP_API_KEY: earlier })
      const later = {
        PORTICO_BOOTSTRAP_API_KEY: 'sk-chosen-later-on',
        PORTICO_BOOTSTRAP_MANAGEMENT_KEY: 'mk-chosen-later-on',
      }
      for (let again = 0; again < 2; again += 1) {
        await using identity = await start(place, later)
        const { organizationId, workspaceId } = first.bootstrap
        const none = { createdManagementKey: undefined, createdApiKey: undefined }
        assert.deepEqual(identity.bootstrap, { organizationId, workspaceId, ...none })
        for (const key of [earlier, ...Object.values(later)]) await kindOf(identity, key)
      }
    })

    test('a chosen key that was deleted stays deleted after each start, with one warning', async () => {
      await using place = await create()
      const key = 'sk-chosen-and-leaked-since'
      const env = { PORTICO_BOOTSTRAP_API_KEY: key }
      {
        await using first = await start(place, env)
        const { organizationId, workspaceId } = first.bootstrap
        const { principal } = await kindOf(first, key)
        const client = createClient(IdentityService, createLocalTransport(first.routes))
        const operator = { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } as const
        await client.deleteApiKey({ keyId: principal?.apiKeyId ?? '' }, callOptions({ principal: operator }))
      }
      for (let again = 0; again < 2; again += 1) {
        const warnings: string[] = []
        const logger = Object.assign(Object.create(silentLogger), { warn: (text: string) => warnings.push(text) })
        await using identity = await open(readConfig({ ...place.env, ...env }), { clock: systemClock, logger })
        assert.equal((await refusalOf(kindOf(identity, key))).reason, 'CREDENTIAL_REFUSED')
        assert.deepEqual(warnings, ['PORTICO_BOOTSTRAP_API_KEY is a key that was deleted, and remains deleted'])
      }
    })

    test('a chosen key that is already of another kind stops the start, and names the variable', async () => {
      await using place = await create()
      const key = 'sk-or-mk-who-knows-which'
      await using _ = await start(place, { PORTICO_BOOTSTRAP_API_KEY: key })
      await assert.rejects(start(place, { PORTICO_BOOTSTRAP_MANAGEMENT_KEY: key }), (error) => {
        assert.ok(error instanceof ConfigError)
        const problem = 'is already a workspace key'
        assert.deepEqual(error.problems, [{ variable: 'PORTICO_BOOTSTRAP_MANAGEMENT_KEY', problem }])
        return true
      })
    })

    test('one of several processes that start at once creates the keys, and all serve one workspace', async () => {
      await using place = await create()
      await using stack = new AsyncDisposableStack()
      const all = await Promise.all(Array.from({ length: 4 }, () => start(place)))
      for (const identity of all) stack.use(identity)
      assert.equal(all.filter(({ bootstrap }) => bootstrap.createdApiKey !== undefined).length, 1)
      assert.equal(all.filter(({ bootstrap }) => bootstrap.createdManagementKey !== undefined).length, 1)
      assert.equal(new Set(all.map(({ bootstrap }) => bootstrap.workspaceId)).size, 1)
    })

    test('a key disabled through one process is refused by another at once', async () => {
      await using place = await create()
      await using first = await start(place)
      await using second = await start(place)
      const key = first.bootstrap.createdApiKey ?? ''
      const { principal } = await kindOf(second, key)
      const { organizationId, workspaceId } = first.bootstrap
      const client = createClient(IdentityService, createLocalTransport(first.routes))
      const operator = callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } })
      await client.updateApiKey(
        { keyId: principal?.apiKeyId ?? '', disabled: true, updateMask: { paths: ['disabled'] } },
        operator,
      )
      assert.equal((await refusalOf(kindOf(second, key))).reason, 'CREDENTIAL_REFUSED')
    })
  })
}

suite('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-identity-'))
  return {
    env: { PORTICO_DATA_DIR: directory },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
})

suite(
  'MongoDB',
  async () => {
    const [uri, database] = [mongoUri() ?? '', freshDatabaseName()]
    const PORTICO_KEY_ENCRYPTION_KEY = Buffer.alloc(32, 'key').toString('base64')
    return {
      env: { PORTICO_MONGODB_URI: uri, PORTICO_MONGODB_DATABASE: database, PORTICO_KEY_ENCRYPTION_KEY },
      async [Symbol.asyncDispose]() {
        await using mongo = await openMongo({ uri, database })
        await mongo.db.dropDatabase()
      },
    }
  },
  { skip: skipWithoutMongo },
)
