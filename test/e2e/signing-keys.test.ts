import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { MongoSigningKeys } from '#services/identity/adapters/mongo/signing-keys.ts'
import { SQLITE } from '#services/identity/adapters/schema.ts'
import { SqliteSigningKeys } from '#services/identity/adapters/sqlite/signing-keys.ts'
import type { SigningKey } from '#services/identity/domain/signing-key.ts'
import { KeySeal } from '#services/identity/run/access-token/key-seal.ts'
import { systemClock } from '#shared/clock.ts'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { KEYS, runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'
import { readCollections } from '#test/support/read-stores.ts'
import { grantAt, KEY_A, KEY_B, openBeside } from '#test/support/signing.ts'

const SECRET = 'a secret of processes'

/**
 * Everything that would reveal a private key, or what it is encrypted with, in every form in which it could be written.
 */
function secretsOf(keys: readonly SigningKey[], encryptionKey: string): Buffer[] {
  const seal = new KeySeal({ keys: [encryptionKey], source: 'the test' })
  const scalars = keys.map(({ kid, sealed }) => {
    const { bytes } = seal.open(kid, sealed) ?? assert.fail('a key does not open')
    const { d = '' } = createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
    return Buffer.from(d, 'base64url')
  })
  return [...scalars, Buffer.from(encryptionKey, 'base64')].flatMap((bytes) => [
    bytes,
    // Without the characters at either end that depend on their neighbours.
    ...([0, 1, 2] as const).map((shift) => {
      const text = Buffer.concat([Buffer.alloc(shift), bytes])
        .toString('base64')
        .replaceAll('=', '')
      return Buffer.from(text.slice(shift === 0 ? 0 : 4, -2))
    }),
    ...([0, 1, 2] as const).map((shift) => {
      const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url')
      return Buffer.from(text.slice(shift === 0 ? 0 : 4, -2))
    }),
    Buffer.from(bytes.toString('hex')),
    Buffer.from(bytes.toString('hex').toUpperCase()),
    Buffer.from([...bytes].join(',')),
  ])
}

function assertNone(secrets: readonly Buffer[], places: Readonly<Record<string, Buffer>>): void {
  for (const [name, bytes] of Object.entries(places)) {
    assert.ok(bytes.length > 0, `${name} is empty`)
    for (const secret of secrets) assert.equal(bytes.indexOf(secret), -1, `a secret is in ${name}`)
  }
}

test('no private key is in the bytes of a data folder, in the log or in an answer, and its encryption key in its file alone', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0', PORTICO_LOG_LEVEL: 'trace' }
  const server = await startProcess('main.ts', environment)
  const rotated = await runToEnd('cli/token.ts', ['rotate'], environment)
  assert.equal(rotated.code, 0, rotated.stderr)
  const answer = await fetch(`${server.url}/api/v1/oauth/jwks`)
  const written = filesOf(data.path)
  assert.equal(await server.stop(), 0)

  const file = new SqliteFile(join(data.path, 'identity.sqlite'), { schema: SQLITE, exclusive: false })
  const keys = await new SqliteSigningKeys(file).list()
  await file[Symbol.asyncDispose]()
  assert.equal(keys.length, 2)
  const { 'encryption.key': own, ...others } = { ...written, ...filesOf(data.path) }
  const secrets = secretsOf(keys, own?.toString().trim() ?? '')
  const output = Buffer.from(server.output() + rotated.stdout + rotated.stderr)
  assertNone(secrets, { ...others, output, answer: Buffer.from(await answer.text()) })
  // The search finds what is known to be there.
  const planted = Buffer.from(`...${own?.toString()}...`)
  assert.throws(() => assertNone(secrets, { planted }))
})

/** Every file that is not empty below a folder, by its path. A running server may remove some meanwhile. */
function filesOf(directory: string): Record<string, Buffer> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const files = entries.flatMap(({ parentPath, name }): [string, Buffer][] => {
    const path = join(parentPath, name)
    try {
      return [[relative(directory, path), readFileSync(path)]]
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
  })
  return Object.fromEntries(files.filter(([, bytes]) => bytes.length > 0))
}

test('no private key is in a MongoDB store, in the log or in an answer; a process with another encryption key refuses to start', {
  skip: skipWithoutMongo,
}, async () => {
  using scratch = scratchDirectory()
  const database = freshDatabaseName()
  const files = [KEY_A, KEY_B].map((key, index) => {
    const path = join(scratch.path, String(index))
    writeFileSync(path, `${key}\n`)
    return path
  }) as [string, string]
  const environment = (file: string) => ({
    ...{ PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database, PORTICO_LOG_LEVEL: 'trace' },
    ...{ PORTICO_INTERNAL_SECRET: SECRET, PORTICO_SERVICE_PORT: '0', PORTICO_KEY_ENCRYPTION_KEY_FILE: file },
  })
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database })
  try {
    const [one, two] = await Promise.all(
      [0, 1].map(() => startProcess('services/identity/main.ts', environment(files[0]))),
    )
    const answers = await Promise.all(
      [one, two].map(async (process) => {
        const transport = createHttp2Transport({ url: process?.url ?? '', secret: SECRET })
        const { keys } = await createClient(FederationService, transport).listSigningKeys({})
        await transport[Symbol.asyncDispose]()
        return keys.map(({ kid, x, y }) => ({ kid, x, y }))
      }),
    )
    assert.equal(answers[0]?.length, 1)
    assert.deepEqual(answers[1], answers[0])

    const before = await readCollections(mongo.db)
    const { code, stderr } = await runToEnd('services/identity/main.ts', [], environment(files[1]))
    assert.equal(code, 1)
    assert.match(stderr, /^The signing keys in the store are not encrypted with PORTICO_KEY_ENCRYPTION_KEY\. [^\n]+\n$/)
    const { store_probes: _, ...stored } = await readCollections(mongo.db)
    assert.deepEqual(stored['identity.signing_keys'], before['identity.signing_keys'])

    for (const process of [one, two]) assert.equal(await process?.stop(), 0)
    const secrets = secretsOf(await new MongoSigningKeys(mongo).list(), KEY_A)
    const documents = Object.entries(await rawCollections(mongo.db))
    assertNone(secrets, {
      ...Object.fromEntries(documents),
      output: Buffer.from(`${one?.output()}${two?.output()}${stderr}`),
      answers: Buffer.from(JSON.stringify(answers)),
    })
  } finally {
    await dropDatabase(database)
  }
})

test('without PORTICO_KEY_ENCRYPTION_KEY, MongoDB has no signing keys, and a warning at the start names the setting', {
  skip: skipWithoutMongo,
}, async () => {
  const database = freshDatabaseName()
  try {
    const identity = await startProcess('services/identity/main.ts', {
      ...{ PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database },
      ...{ PORTICO_INTERNAL_SECRET: SECRET, PORTICO_SERVICE_PORT: '0' },
    })
    assert.equal(await identity.stop(), 0)
    const warnings = identity.output().match(/^\{"level":"(?:warn|error)".*$/gm) ?? []
    assert.deepEqual(
      warnings.map((line) => (JSON.parse(line) as { msg: string }).msg),
      ['PORTICO_KEY_ENCRYPTION_KEY is not set: no access tokens are issued'],
    )
  } finally {
    await dropDatabase(database)
  }
})

/** The bytes of every non-empty collection. */
async function rawCollections(db: Awaited<ReturnType<typeof openMongo>>['db']): Promise<Record<string, Buffer>> {
  const found: Record<string, Buffer> = {}
  for (const { collectionName } of await db.collections()) {
    const documents = await db.collection(collectionName, { raw: true }).find({}).toArray()
    if (documents.length > 0) found[collectionName] = Buffer.concat(documents as unknown as Buffer[])
  }
  return found
}

test('the issuer of tokens is the address of the gateway or the origin of PORTICO_PUBLIC_URL, and tokens of other issuers are refused', async () => {
  using data = scratchDirectory()
  const common = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0', PORTICO_BOOTSTRAP_API_KEY: KEYS.api }
  const settings: Record<string, string>[] = [{}, { PORTICO_PUBLIC_URL: 'https://portico.example/a/path' }]
  for (const more of settings) {
    const server = await startProcess('main.ts', { ...common, ...more })
    const { stdout } = await runToEnd('cli/key.ts', ['list'], common)
    const [, workspaceId = ''] = /workspace (wrk_\w+)/.exec(stdout) ?? []
    const [, keyId = ''] = /^(key_\w+) .* workspace /m.exec(stdout) ?? []
    const own = 'PORTICO_PUBLIC_URL' in more ? 'https://portico.example' : server.url
    for (const [issuer, status] of [
      [own, 400],
      ['https://another.example', 401],
    ] as const) {
      await using beside = await openBeside(data.path, systemClock, issuer)
      const minted = await beside.tokens.mint(grantAt(systemClock.now(), { target: { workspaceId, keyId } }))
      const headers = { authorization: `Bearer ${minted?.token}`, 'content-type': 'application/json' }
      const answer = await fetch(`${server.url}/api/v1/responses`, { method: 'POST', headers, body: '{"model":1}' })
      assert.equal(answer.status, status, `${issuer}: ${await answer.text()}`)
    }
    assert.equal(await server.stop(), 0)
  }
})

test('without the key of its folder, or with another one, the server refuses to start in one line; with it, it starts again', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0' }
  const path = join(data.path, 'encryption.key')
  assert.equal(await (await startProcess('main.ts', environment)).stop(), 0)
  const original = `${path}.original`
  renameSync(path, original)
  const missing = `${path} is missing, which the signing keys in the store are encrypted with: restore it\n`
  assert.deepEqual(await runToEnd('main.ts', [], environment), { code: 1, stdout: '', stderr: missing })

  writeFileSync(path, `${KEY_B}\n`)
  const wrong = new RegExp(`^The signing keys in the store are not encrypted with ${path}\\. [^\n]+\n$`)
  const { code, stdout, stderr } = await runToEnd('main.ts', [], environment)
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, wrong)

  renameSync(original, path)
  const changed = { ...environment, PORTICO_KEY_ENCRYPTION_KEY: KEY_A }
  for (const each of [environment, changed]) assert.equal(await (await startProcess('main.ts', each)).stop(), 0)
  // The key of the folder is no longer needed, and no longer sufficient.
  assert.equal((await runToEnd('main.ts', [], environment)).code, 1)
  renameSync(path, original)
  assert.equal(await (await startProcess('main.ts', changed)).stop(), 0)
})
