import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { KeyTerms_Reset, KeyTerms_ResponsesDialect } from '#gen/portico/identity/v1/identity_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { silentLogger } from '#test/support/transports.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function runKey(env: Record<string, string>, words: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/portico.mjs', 'key', ...words], { env, cwd: ROOT }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })
}

async function newFolder() {
  const path = await mkdtemp(join(tmpdir(), 'portico-key-'))
  const env = { PORTICO_DATA_DIR: path }
  const key = (...words: string[]) => runKey(env, words)
  const openService = async () => {
    const service = await open(readConfig(env), { clock: systemClock, logger: silentLogger })
    const client = createClient(IdentityService, createLocalTransport(service.routes))
    const authenticate = (value: string) => client.authenticate({ credential: { case: 'apiKey', value } })
    return { authenticate, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
  }
  return { path, key, openService, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

test('create prints the key alone on standard output; a running server takes it, and refuses it once disabled', async () => {
  await using folder = await newFolder()
  await using server = await folder.openService()
  const created = await folder.key('create', '--kind', 'personal', '--name', 'of a test', '--expires-in-days', '7')
  assert.match(created.stdout, /^pk-portico-\w{40}\n$/)
  assert.match(
    created.stderr,
    /^Store: the folder [^\n]+\nCreated key_\w{24} {2}pk-portico-\w{4}… {2}personal {2}enabled {2}expires \S+Z {2}"of a test" of workspace (wrk_\w+)\. The key is shown only once\.\n$/,
  )
  const secret = created.stdout.trim()
  const { principal } = await server.authenticate(secret)
  const keyId = principal?.apiKeyId ?? ''

  const disabled = await folder.key('disable', keyId)
  assert.deepEqual([disabled.code, disabled.stdout], [0, ''])
  assert.equal((await refusalOf(server.authenticate(secret))).reason, 'CREDENTIAL_REFUSED')
  const { stdout, stderr } = await folder.key('list')
  assert.equal(stderr, `Store: the folder ${folder.path}\n`)
  assert.ok(created.stderr.includes(` of workspace ${principal?.workspaceId}.`))
  const lines = stdout.trimEnd().split('\n')
  assert.equal(lines.length, 4)
  const uuid = workspaceUuid(principal?.workspaceId ?? '')
  assert.equal(lines[0], `Keys of workspace ${principal?.workspaceId} (in /api/v1: ${uuid}):`)
  assert.equal((await folder.key('list', '--workspace', uuid.toUpperCase())).stdout, stdout)
  assert.match(lines[3] ?? '', new RegExp(`^${keyId} .* personal  disabled `))
  assert.equal(stdout.includes(secret), false)

  assert.equal((await folder.key('enable', keyId)).code, 0)
  await server.authenticate(secret)
})

test('terms are set when a key is created, and later, and a workspace gets a limit', async () => {
  await using folder = await newFolder()
  const terms = ['--limit', '2.5', '--reset', 'daily', '--requests-per-minute', '60', '--models', 'openai/*,echo']
  const secret = (await folder.key('create', ...terms)).stdout.trim()
  await using server = await folder.openService()
  const { principal, terms: shown } = await server.authenticate(secret)
  assert.deepEqual(
    [shown?.limitNanos, shown?.limitReset, shown?.requestsPerMinute, shown?.allowedModels],
    [2_500_000_000n, KeyTerms_Reset.DAILY, 60, ['openai/*', 'echo']],
  )
  const keyId = principal?.apiKeyId ?? ''
  const changed = await folder.key(
    'set',
    keyId,
    '--limit',
    'none',
    '--tokens-per-minute',
    '1000',
    '--models',
    'none',
    '--responses-dialect',
    'openai',
    '--history-ids',
    'false',
  )
  assert.match(
    changed.stderr,
    /never expires {2}60 requests\/min {2}1000 tokens\/min {2}dialect openai {2}history ids false {2}"made by/,
  )
  assert.equal((await folder.key('workspace-limit', '0.000000001')).code, 0)
  const { terms: later } = await server.authenticate(secret)
  assert.deepEqual(
    [
      later?.limitNanos,
      later?.tokensPerMinute,
      later?.allowedModels,
      later?.workspaceLimitNanos,
      later?.responsesDialect,
      later?.historyIds,
    ],
    [undefined, 1_000n, [], 1n, KeyTerms_ResponsesDialect.OPENAI, false],
  )
  assert.equal((await folder.key('workspace-limit', 'none')).code, 0)
  assert.equal((await server.authenticate(secret)).terms?.workspaceLimitNanos, undefined)
  for (const words of [
    ['set', keyId],
    ['set', keyId, '--name', 'a'],
    ['set', keyId, '--limit', '-1'],
    ['set', keyId, '--history-ids', 'yes'],
    ['workspace-limit'],
  ]) {
    assert.equal((await folder.key(...words)).code, 2, words.join(' '))
  }
})

test('a deleted key is refused by a running server, and gone', async () => {
  await using folder = await newFolder()
  await using server = await folder.openService()
  const secret = (await folder.key('create')).stdout.trim()
  const { principal } = await server.authenticate(secret)
  const deleted = await folder.key('delete', principal?.apiKeyId ?? '')
  assert.deepEqual([deleted.code, deleted.stdout], [0, ''])
  assert.equal((await refusalOf(server.authenticate(secret))).reason, 'CREDENTIAL_REFUSED')
  const again = await folder.key('delete', principal?.apiKeyId ?? '')
  assert.deepEqual([again.code, again.stderr.includes('API key not found')], [1, true])
})

test('without a server, and before the first start, the first keys are shown beside the new one', async () => {
  await using folder = await newFolder()
  const created = await folder.key('create')
  assert.ok(created.stderr.startsWith(`Store: the folder ${folder.path}\nIt is new: `), created.stderr)
  assert.match(created.stdout, /^sk-portico-\w{40}\n$/)
  const [, first] = /Workspace API key, shown once: (sk-portico-\w{40})\n/.exec(created.stderr) ?? []
  assert.match(created.stderr, /Management key, shown once: mk-portico-\w{40}\n/)
  await using server = await folder.openService()
  await server.authenticate(created.stdout.trim())
  await server.authenticate(first ?? '')
})

test('invalid arguments are answered with one line and a pointer to the usage, and a refusal with one line', async () => {
  await using folder = await newFolder()
  for (const words of [
    ['make'],
    ['create', '--kind', 'local-operator'],
    ['create', '--expires-in-days', '0.5'],
    ['disable'],
    ['disable', 'key_1', 'key_2'],
    ['delete'],
    ['delete', 'key_1', '--name', 'x'],
  ]) {
    const { code, stdout, stderr } = await folder.key(...words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    assert.match(stderr, /^[^\n]+\nSee npm run key -- help\n$/)
  }
  for (const [words, problem] of [
    [['create', '--limt', '5'], "Unknown option '--limt'"],
    [['create', '--limit'], '--limit requires a value'],
    [['create', '--limit', '--reset', 'daily'], '--limit requires a value'],
    [['create', '--reset', 'monthly'], '--reset needs --limit'],
    [['create', '--reset', 'monthly', '--limit', 'none'], '--reset needs --limit'],
  ] as const) {
    const { code, stdout, stderr } = await folder.key(...words)
    assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `${problem}\nSee npm run key -- help\n` })
  }
  for (const words of [[], ['--help'], ['help'], ['create', '--help']]) {
    const { code, stdout, stderr } = await folder.key(...words)
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^Usage: npm run key -- create /)
  }
  for (const words of [['list'], ['disable', 'key_1'], ['delete', 'key_1'], ['create', '--workspace', 'wrk_1']]) {
    const { code, stdout, stderr } = await folder.key(...words)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /There is no store yet\. Give this command the server's environment/)
  }
  assert.deepEqual(readdirSync(folder.path), [])
  assert.equal((await folder.key('create')).code, 0)
  const missing = await folder.key('disable', 'key_unknown')
  assert.deepEqual(missing, {
    code: 1,
    stdout: '',
    stderr: `Store: the folder ${folder.path}\nAPI key not found: key_unknown\n`,
  })
})

test('only create makes a store in a database without one', { skip: skipWithoutMongo }, async () => {
  const database = freshDatabaseName()
  const uri = mongoUri() ?? ''
  const key = (...words: string[]) => runKey({ PORTICO_MONGODB_URI: uri, PORTICO_MONGODB_DATABASE: database }, words)
  await using mongo = await openMongo({ uri, database })
  try {
    for (const words of [['list'], ['disable', 'key_1'], ['enable', 'key_1']]) {
      const { code, stdout, stderr } = await key(...words)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /There is no store yet\. Give this command the server's environment/)
    }
    assert.deepEqual(await mongo.db.listCollections().toArray(), [])
    const created = await key('create')
    assert.equal(created.code, 0)
    assert.match(created.stderr, /\nIt is new: /)
    const { code, stdout, stderr } = await key('list')
    assert.equal(code, 0)
    assert.equal(stdout.trimEnd().split('\n').length, 4)
    assert.doesNotMatch(stderr, /It is new/)
  } finally {
    await mongo.db.dropDatabase()
  }
})
