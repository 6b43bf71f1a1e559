import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { KEYS, scratchDirectory } from '#test/support/processes.ts'
import { type Product, type Setting, startSingle, startSplit } from '#test/support/product.ts'
import { type CollectedSpan, startCollector } from '#test/support/trace-collector.ts'

type Start = (setting: Setting) => Promise<Product>

const INTERNAL = 1
const SERVER = 2
const CLIENT = 3

const single: Start = startSingle
const database = freshDatabaseName()
const split: Start = (setting) => {
  const environment = { ...setting.environment, PORTICO_MONGODB_DATABASE: database }
  return startSplit(mongoUri() ?? '', { ...setting, environment })
}

/** Requests, with the name of each one's span and the store that it reaches. */
const REQUESTS = [
  ['get', 'GET', '/api/session/ses_trace', undefined, 'GET /api/session/:sessionID', 'SessionStore.getSession'],
  ['list', 'GET', '/api/session?limit=5', undefined, 'GET /api/session', 'SessionStore.listSessions'],
  ['create', 'POST', '/api/session', {}, 'POST /api/session', 'SessionStore.createSession'],
  [
    ...(['prompt', 'POST', '/api/session/ses_trace/prompt', { text: '/length 2' }] as const),
    ...(['POST /api/session/:sessionID/prompt', 'SessionStore.revise'] as const),
  ],
  [
    ...(['responses', 'POST', '/api/v1/responses', { model: 'portico/echo', input: 'Hi' }] as const),
    ...(['POST /api/v1/responses', 'Ledger.open'] as const),
  ],
  [
    ...(['stream', 'POST', '/api/v1/responses', { model: 'portico/echo', input: 'Hi', stream: true }] as const),
    ...(['POST /api/v1/responses', 'Ledger.open'] as const),
  ],
] as const

test('in one process each request is one unbroken trace, with at most 3 RPC hops', async () => {
  for (const [title, trace] of await tracesOf(single)) {
    const hops = trace.filter(({ name }) => name.startsWith('portico.'))
    assert.ok(hops.length >= 1 && hops.length <= 3, `${title}: ${hops.map(({ name }) => name).join(', ')}`)
    assert.ok(hops.every(({ kind }) => kind === INTERNAL))
  }
})

test('between processes each request is one unbroken trace, from the facade to the store', {
  skip: skipWithoutMongo,
}, async (t) => {
  t.after(() => dropDatabase(database))
  for (const [title, trace] of await tracesOf(split)) {
    const servers = trace.filter(({ name, kind }) => name.startsWith('portico.') && kind === SERVER)
    const clients = trace.filter(({ name, kind }) => name.startsWith('portico.') && kind === CLIENT)
    assert.ok(servers.length >= 1, title)
    for (const server of servers) {
      const client = clients.find(({ spanId }) => spanId === server.parentId)
      assert.equal(client?.name, server.name)
      assert.notEqual(client?.service, server.service)
    }
  }
})

/** Sends the requests, each in a trace of its own, and stops the product, so that every span has been sent. */
async function tracesOf(start: Start): Promise<Map<string, CollectedSpan[]>> {
  using data = scratchDirectory()
  using project = scratchDirectory()
  await using collector = await startCollector()
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  const product = await start({ dataDirectory: data.path, project: project.path, environment })
  const ids = new Map<string, string>()
  try {
    await new InstanceClient(product.url).createSession({ id: 'ses_trace' })
    for (const [title, method, path, body] of REQUESTS) {
      const traceId = randomBytes(16).toString('hex')
      ids.set(title, traceId)
      const headers = {
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
        authorization: `Bearer ${KEYS.api}`,
        'content-type': 'application/json',
      }
      const answer = await fetch(product.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      assert.equal(answer.status, 200, `${title}: ${await answer.text()}`)
    }
  } finally {
    await product.stop()
  }
  const traces = new Map<string, CollectedSpan[]>()
  for (const [title, , , , root, store] of REQUESTS) {
    const trace = collector.spans.filter(({ traceId }) => traceId === ids.get(title))
    assertUnbroken(title, trace, root, store)
    traces.set(title, trace)
  }
  return traces
}

/** The request's span is the only one whose parent is elsewhere, and the store's span is below it. */
function assertUnbroken(title: string, trace: readonly CollectedSpan[], root: string, store: string): void {
  const byId = new Map(trace.map((span) => [span.spanId, span]))
  const names = trace.map(({ name }) => name).join(', ')
  assert.deepEqual(
    trace.filter(({ parentId }) => !byId.has(parentId)).map(({ name, kind }) => [name, kind]),
    [[root, SERVER]],
    `${title}: ${names}`,
  )
  assert.ok(
    trace.some(({ name }) => name === store),
    `${title} has no ${store}: ${names}`,
  )
}
