import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import test from 'node:test'
import type { LargeBodyLimits } from '#gateway/http/large-bodies/large-bodies.ts'
import { openFacade, type TestFacade } from '#test/support/facade.ts'
import { stubSession } from '#test/support/stub-session.ts'

const MIB = 1_048_576
const NEVER = 3_600_000
/** Nobody is too slow, and nobody waits in vain. */
const LIMITS: LargeBodyLimits = {
  arriving: 8 * MIB,
  arrivingOfOne: 4 * MIB,
  handled: 24 * MIB,
  waitMs: NEVER,
  pace: 1_000,
  paceMs: NEVER,
}

/** A facade whose keys are named after their organizations. */
function openLimited(limits: Partial<LargeBodyLimits> = {}): Promise<TestFacade> {
  return openFacade(
    {
      largeBodies: { ...LIMITS, ...limits },
      session: { createSession: ({ sessionId }) => ({ session: stubSession({ sessionId }) }) },
      inference: { generate: () => ({ generation: { model: 'a/b', reason: 1 } }) },
      identity: {
        authenticate: ({ credential }) => ({
          principal: { organizationId: String(credential.value), workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 1 },
        }),
      },
    },
    { PORTICO_BODY_LIMIT_BYTES: String(32 * MIB), PORTICO_AUTH: 'bearer' },
  )
}

const RESPONSES = '/api/v1/responses'

/** A client that has sent the beginning of a body of 32 MiB, a little more than a megabyte. */
async function begin(facade: TestFacade, organization: string, path = RESPONSES, length = 'Content-Length: 33554432') {
  const socket = connect(facade.listener.port, '127.0.0.1')
  const answer = text(socket).catch(() => '')
  socket.on('error', () => undefined)
  const host = new URL(facade.url).host
  const headers = `Host: ${host}\r\nAuthorization: Bearer sk-portico-${organization}\r\nContent-Type: application/json\r\n`
  const piece = `{"model":"${'a'.repeat(1.1 * MIB)}`
  const chunked = length.startsWith('Transfer-Encoding') ? `${piece.length.toString(16)}\r\n` : ''
  socket.write(`POST ${path} HTTP/1.1\r\n${headers}${length}\r\n\r\n${chunked}${piece}`)
  await once(socket, 'drain')
  return {
    socket,
    async answer() {
      const [head = '', body = ''] = (await answer).split('\r\n\r\n')
      return { head, status: Number(head.slice(9, 12)), body: JSON.parse(body) }
    },
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/** Sends a whole body of so many bytes. */
function send(facade: TestFacade, organization: string, bytes: number, path = RESPONSES): Promise<Response> {
  const content = 'x'.repeat(bytes)
  return facade.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer sk-portico-${organization}` },
    body: JSON.stringify(path === RESPONSES ? { model: 'a/b', input: content } : { metadata: { content } }),
    signal: AbortSignal.timeout(20_000),
  })
}

/** A pause in which everything that was sent arrives. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100))

test('silent clients hold what has arrived: neither others nor their own organization wait for the rest', async () => {
  await using facade = await openLimited({ arriving: 32 * MIB, arrivingOfOne: 16 * MIB })
  using stack = new DisposableStack()
  const lengths = ['Content-Length: 33554432', 'Transfer-Encoding: chunked']
  for (let i = 0; i < 3; i++) for (const length of lengths) stack.use(await begin(facade, 'silent', RESPONSES, length))
  await settled()
  for (const organization of ['other', 'silent'])
    assert.equal((await send(facade, organization, 3 * MIB)).status, 200, organization)
})

test('one organization cannot hold everything, however many of its bodies wait', async () => {
  await using facade = await openLimited()
  using stack = new DisposableStack()
  for (let i = 0; i < 12; i++) stack.use(await begin(facade, 'silent'))
  await settled()
  assert.equal((await send(facade, 'other', 3 * MIB)).status, 200)
})

test('while one organization holds its part, its next body is 503', async () => {
  await using facade = await openLimited({ waitMs: 200 })
  using stack = new DisposableStack()
  for (let i = 0; i < 4; i++) stack.use(await begin(facade, 'silent'))
  await settled()
  assert.equal((await send(facade, 'silent', 3 * MIB)).status, 503)
})

test('bodies that have arrived in part do not wait for each other for ever', async () => {
  await using facade = await openLimited({ arriving: 4 * MIB, arrivingOfOne: 3 * MIB })
  const bodies = ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'a'].map((organization) => send(facade, organization, 6 * MIB))
  assert.deepEqual(new Set((await Promise.all(bodies)).map(({ status }) => status)), new Set([200]))
})

test('a large body that pauses is 408, and its connection is closed', async () => {
  await using facade = await openLimited({ paceMs: 200 })
  const type = { metadata: { error_type: 'timeout' } }
  using ofGateway = await begin(facade, 'silent')
  using ofInstance = await begin(facade, 'silent', '/api/session')
  const { status, head, body } = await ofGateway.answer()
  assert.deepEqual(
    [status, body],
    [408, { error: { code: 408, message: 'Operation timed out: the body arrived too slowly', ...type } }],
  )
  assert.match(head, /^connection: close$/im)
  const instance = await ofInstance.answer()
  assert.deepEqual(
    [instance.status, instance.body],
    [408, { _tag: 'RequestTimeoutError', message: 'The body arrived too slowly' }],
  )
})

test('a body whose turn does not come is 503 with the reason, and is not called slow', async () => {
  await using facade = await openLimited({ arriving: 2 * MIB, waitMs: 600, paceMs: 200 })
  using oldest = await begin(facade, 'oldest')
  const flow = setInterval(() => oldest.socket.write('a'.repeat(1_000)), 20)
  await settled()
  const [ofGateway, ofInstance] = await Promise.all(
    [RESPONSES, '/api/session'].map((path) => send(facade, 'waiting', 3 * MIB, path)),
  )
  const message = 'Service temporarily unavailable: too many large request bodies arrived at the same time'
  assert.deepEqual([ofGateway?.status, ofGateway?.headers.get('retry-after')], [503, '10'])
  assert.deepEqual(await ofGateway?.json(), {
    error: { code: 503, message, metadata: { error_type: 'server' } },
  })
  assert.deepEqual([ofInstance?.status, ofInstance?.headers.get('retry-after')], [503, '10'])
  assert.deepEqual(await ofInstance?.json(), {
    _tag: 'ServiceUnavailableError',
    message: 'Too many large request bodies arrived at the same time; try again',
    service: 'gateway',
  })
  const late = send(facade, 'waiting', 3 * MIB)
  await settled()
  clearInterval(flow)
  oldest.socket.destroy()
  assert.equal((await late).status, 200)
})
