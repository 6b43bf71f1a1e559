import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { EventSource } from 'eventsource'
import { InstanceClient } from '#test/support/instance-client.ts'
import { type OwnMongo, skipWithoutMongod, startOwnMongo } from '#test/support/own-mongo.ts'
import { KEYS, scratchDirectory } from '#test/support/processes.ts'
import { type Product, startSplit } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** Services with a store. */
const STORED = /services\/(session|identity|inference)\//
const ENDED = 'session.execution.succeeded'
const S = '/api/session/ses_routes'
/**
 * Limits of 4 s see to the 5 s that docs/architecture.md names; the deadline of a call, which would end it as well,
 * comes after 30 s.
 */
const SOON_MS = 28_000
/** How often a process may lose the store in one outage: on a busy machine a probe may fail after one that succeeds. */
const MOST_LOSSES = 3
/** Every route that needs a store. */
const ROUTES: readonly (readonly [method: 'GET' | 'POST', path: string, body?: object])[] = [
  ['POST', '/api/session', { id: 'ses_new' }],
  ['GET', '/api/session'],
  ['GET', '/api/session/active'],
  ['GET', S],
  ['POST', `${S}/agent`, { agent: 'plan' }],
  ['POST', `${S}/model`, { model: { providerID: 'portico', id: 'echo' } }],
  ['POST', `${S}/prompt`, { text: 'Hello' }],
  ['POST', `${S}/prompt`, { text: 'Hello', files: [{ uri: 'data:text/plain,words' }] }],
  ['POST', `${S}/interrupt`],
  ['POST', `${S}/wait`],
  ['GET', `${S}/message`],
  ['GET', `${S}/message/msg_1`],
  ['GET', '/api/permission/request'],
  ['GET', `${S}/permission`],
  ['GET', `${S}/permission/per_1`],
  ['POST', `${S}/permission/per_1/reply`, { reply: 'once' }],
  ['POST', '/api/v1/responses', { model: 'portico/echo', input: 'Hello' }],
]

suite('five processes whose MongoDB is away', { skip: skipWithoutMongod }, () => {
  const data = scratchDirectory()
  const project = scratchDirectory()
  let mongo: OwnMongo
  let product: Product
  let client: InstanceClient

  before(async () => {
    mongo = await startOwnMongo(data.path)
    // No outage here outlasts a lease, however slow the machine is.
    const environment = { PORTICO_SESSION_LEASE_SECONDS: '600' }
    product = await startSplit(mongo.uri, { dataDirectory: data.path, project: project.path, environment })
    client = new InstanceClient(product.url)
    await client.createSession({ id: 'ses_routes' })
  })
  after(async () => {
    await product?.stop()
    await mongo?.[Symbol.asyncDispose]()
    data[Symbol.dispose]()
    project[Symbol.dispose]()
  })

  /** Calls the routes; returns when all have answered. */
  const askAll = (routes: typeof ROUTES) =>
    Promise.all(
      routes.map(async ([method, path, body]) => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${KEYS.api}` }
        const started = performance.now()
        const answer = await fetch(product.url + path, {
          ...{ method, headers, signal: AbortSignal.timeout(120_000) },
          ...(body && { body: JSON.stringify(body) }),
        })
        const ms = performance.now() - started
        return { what: `${method} ${path}`, ms, answer, body: (await answer.json()) as Record<string, unknown> }
      }),
    )

  /** Begins a run of about 6 s. */
  const beginRun = async (sessionId: string) => {
    await client.createSession({ id: sessionId })
    await client.prompt(sessionId, { text: '/slow 200\n/length 30\nHello' })
    await waitFor('the model has begun', async () => (await client.messages(sessionId)).length > 1)
  }

  /** Waits until the gateway reports that state for the services with a store. */
  const isReady = async (status: 200 | 503, state: 'ready' | 'unavailable') => {
    const expected = { identity: state, catalog: 'ready', session: state, inference: state }
    const readyz = async () => {
      const answer = await fetch(`${product.url}/readyz`)
      return [answer.status, ((await answer.json()) as { services?: object }).services]
    }
    const holds = async () => isDeepStrictEqual(await readyz(), [status, expected])
    await waitFor(`/readyz says ${status}`, holds, readyz)
  }

  /** Types of the events from now on. */
  const follow = async () => {
    const types: string[] = []
    const source = new EventSource(`${product.url}/api/event`)
    await new Promise((resolve) => source.addEventListener('message', resolve, { once: true }))
    source.addEventListener('message', ({ data }) => types.push((JSON.parse(data) as { type: string }).type))
    return { types, [Symbol.dispose]: () => source.close() }
  }

  for (const [title, away, back, routes] of [
    // A stream of events that is open already would not need the store.
    ['hangs', () => mongo.pause(), () => mongo.resume(), [...ROUTES, ['GET', '/api/event']]],
    ['was killed', () => mongo.kill(), () => mongo.start(), ROUTES],
  ] as const) {
    test(`that ${title}: every route is 503 in time, and /readyz soon after; a run and the event stream go on afterwards`, async () => {
      const sessionId = `ses_${title.replace(' ', '_')}`
      using events = routes === ROUTES ? await follow() : undefined
      await beginRun(sessionId)
      const logs = product.processes().map((process) => process.output().length)
      // Not in the errors of other lines.
      const said = (words: string) =>
        product.processes().map((process, i) => process.output().slice(logs[i]).split(`"msg":"${words}`).length - 1)
      // Of those that have a store.
      const stored = product.processes().map(({ child }) => STORED.test(child.spawnargs.join(' ')))
      /** Each outage is one line, however many calls fail. */
      const fewLosses = () => losses().every((n, i) => (stored[i] ? n >= 1 && n <= MOST_LOSSES : n === 0))
      const losses = () => said('The store is unavailable')
      const returns = () => said('The store is available again')
      const allBack = () => losses().every((n, i) => (returns()[i] ?? 0) >= n)
      await away()
      try {
        for (const { what, ms, answer, body } of await askAll(routes)) {
          assert.equal(answer.status, 503, `${what}: ${JSON.stringify(body)}`)
          assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, what)
          assert.ok(ms < SOON_MS, `${what} took ${ms} ms`)
          if (what.includes('/v1/')) assert.equal((body.error as { code: number }).code, 503)
          else assert.equal(body._tag, 'ServiceUnavailableError')
        }
        await waitFor('each process with a store says it', fewLosses)
        await isReady(503, 'unavailable')
      } finally {
        await back()
      }
      await waitFor('the store takes requests', () =>
        client.wait(sessionId).then(
          () => true,
          () => false,
        ),
      )
      const messages = await client.messages(sessionId)
      assert.deepEqual(
        messages.map(({ type }) => type),
        ['user', 'assistant', 'idle'],
      )
      assert.equal(messages.at(-1)?.outcome, 'succeeded')
      if (events !== undefined) await waitFor('the stream reports the end', () => events.types.includes(ENDED))
      for (const [i, process] of product.processes().entries()) {
        const lines = process.output().slice(logs[i]).split('\n')
        assert.deepEqual(
          lines.filter((line) => line.includes('"err":{') && !line.includes('"level":"info"')),
          [],
        )
      }
      await waitFor('each process says that the store is back', allBack, () => [losses(), returns()])
      await isReady(200, 'ready')
      assert.ok(fewLosses(), String(losses()))
    })
  }

  test('for two seconds, as in a planned step-down: nothing fails', async () => {
    using events = await follow()
    await beginRun('ses_stepdown')
    let over = false
    const prompts = Array.from({ length: 6 }, async (_, i) => {
      const sessionId = `ses_load${i}`
      await client.createSession({ id: sessionId })
      for (let n = 0; !over; n++) {
        await client.prompt(sessionId, { id: `msg_load${i}_${n}`, text: `/length 3\n${n}` })
        await client.messages(sessionId)
        await client.wait(sessionId)
      }
      const ends = (await client.messages(sessionId)).filter(({ type }) => type === 'idle')
      return ends.map(({ outcome }) => outcome)
    })
    await mongo.stepDown(2)
    await client.wait('ses_stepdown')
    over = true
    for (const outcomes of await Promise.all(prompts)) {
      assert.ok(outcomes.length > 0)
      assert.ok(
        outcomes.every((outcome) => outcome === 'succeeded'),
        String(outcomes),
      )
    }
    assert.equal((await client.messages('ses_stepdown')).at(-1)?.outcome, 'succeeded')
    await waitFor('the stream reports the end', () => events.types.includes(ENDED))
  })
})
