import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory, startProcess } from '#test/support/processes.ts'

/** Preloaded: writes down the address of each module that is loaded. */
const HOOK = `import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    appendFileSync(process.env.LOADED, url + '\\n')
    return next(url, context)
  },
})`
const TRACING = /^@opentelemetry\//
const WIRE = ['@connectrpc/connect-node', '@grpc/grpc-js']

/** What a process has loaded once it has started and answered one request: packages, and files of the product. */
async function loadedBy(entry: string, environment: Record<string, string>): Promise<ReadonlySet<string>> {
  using folder = scratchDirectory()
  const [hook, list] = [join(folder.path, 'hook.mjs'), join(folder.path, 'loaded')]
  writeFileSync(hook, HOOK)
  mkdirSync(join(folder.path, 'project'))
  const server = await startProcess(entry, {
    ...{
      PORTICO_PORT: '0',
      PORTICO_DATA_DIR: join(folder.path, 'data'),
      PORTICO_DIRECTORY: join(folder.path, 'project'),
    },
    ...{ NODE_OPTIONS: `--import=${pathToFileURL(hook)}`, LOADED: list },
    ...environment,
  })
  if (entry === 'main.ts') assert.equal((await fetch(`${server.url}/api/session`)).status, 200)
  await server.stop()
  const urls = readFileSync(list, 'utf8').split('\n')
  return new Set(
    urls.map(
      (url) =>
        /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url.replace(/.*\/(?=(?:services|gateway)\/)/, ''),
    ),
  )
}

test('a start of the single process loads neither the driver of MongoDB nor the packages of gRPC and of tracing', async () => {
  const loaded = await loadedBy('main.ts', {})
  assert.ok(loaded.has('express') && loaded.has('services/session/open.ts'))
  const unwanted = ['mongodb', 'bson', ...WIRE, 'services/shared/rpc/reflection.ts']
  assert.deepEqual(
    [...loaded].filter((name) => unwanted.includes(name) || TRACING.test(name)),
    [],
  )
})

test('the thread of the ledger loads no package but protobuf, whose types its rows have', () => {
  using folder = scratchDirectory()
  const [hook, list] = [join(folder.path, 'hook.mjs'), join(folder.path, 'loaded')]
  writeFileSync(hook, HOOK)
  const thread = new URL('../../services/inference/adapters/sqlite/ledger-thread.ts', import.meta.url).href
  const program = `const { Worker } = require('node:worker_threads')
    const worker = new Worker(new URL(${JSON.stringify(thread)}), { workerData: { path: ${JSON.stringify(join(folder.path, 'ledger.db'))} } })
    worker.postMessage([{ id: 1, method: 'dispose', args: [] }])`
  const words = [`--import=${pathToFileURL(hook)}`, '--eval', program]
  const { status, stderr } = spawnSync(process.execPath, words, {
    env: { ...process.env, LOADED: list },
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
  const loaded = readFileSync(list, 'utf8').split('\n')
  assert.ok(loaded.some((url) => url.endsWith('/ledger-file.ts')))
  assert.deepEqual(
    loaded.filter((url) => url.includes('/node_modules/') && !url.includes('/node_modules/@bufbuild/protobuf/')),
    [],
  )
})

test('a process of its own loads the driver, and nothing that only the gateway, tracing or reflection needs', {
  skip: skipWithoutMongo,
}, async () => {
  const database = freshDatabaseName()
  const own = { PORTICO_SERVICE_PORT: '0', PORTICO_INTERNAL_SECRET: 'a secret of processes' }
  const store = { PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database }
  try {
    const loaded = await loadedBy('services/identity/main.ts', { ...own, ...store })
    assert.ok(loaded.has('mongodb'))
    const unwanted = ['express', ...WIRE, 'services/shared/rpc/reflection.ts']
    assert.deepEqual(
      [...loaded].filter((name) => unwanted.includes(name) || TRACING.test(name)),
      [],
    )
  } finally {
    await dropDatabase(database)
  }
})
