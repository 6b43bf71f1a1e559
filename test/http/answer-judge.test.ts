import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { z } from 'zod'
import { OF_SESSIONS } from '#gateway/credentials.ts'
import { events, noContent, stream } from '#gateway/kinds.ts'
import { operation } from '#gateway/operation.ts'
import { AnswerJudge } from '#test/support/answer-judge.ts'

const common = { method: 'get', credentials: OF_SESSIONS, summary: 'S' } as const
const thing = z.strictObject({ id: z.string(), inner: z.strictObject({ n: z.int() }) })

const operations = [
  operation({
    ...{ ...common, id: 'thing.get', path: '/api/thing', errors: ['SESSION_NOT_FOUND'], answer: thing },
    handle: () => 1,
    present: (n) => ({ id: 'a', inner: { n } }),
  }),
  operation({ ...common, id: 'thing.drop', path: '/api/drop', errors: [], answer: noContent, handle: () => undefined }),
  operation({
    ...{ ...common, id: 'thing.watch', path: '/api/watch', errors: [], answer: events(thing) },
    handle: () => stream({ messages: nothing(), frame: String, failed: String, service: 'session', heartbeat: '' }),
  }),
]

async function* nothing() {}

/** What the judge reports about an answer; undefined: it fits. */
async function judged(path: string, status: number, body: string): Promise<string | undefined> {
  const judge = new AnswerJudge({ declared: true, operations })
  const app = judge.wrap((_, response) => void response.writeHead(status).end(body))
  const server = createServer((request, response) => void app(request, response, () => assert.fail()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)).text()
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  await closed
  try {
    judge[Symbol.dispose]()
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

const fitting = { id: 'a', inner: { n: 1 } }
const error = (tag: string, more = {}) => JSON.stringify({ _tag: tag, message: 'M', ...more })

test('an answer that fits its schema passes, and so do errors that are declared or may come of an outage', async () => {
  assert.equal(await judged('/api/thing?x=1', 200, JSON.stringify(fitting)), undefined)
  assert.equal(await judged('/api/watch', 200, `: beat\n\ndata: ${JSON.stringify(fitting)}\n\n`), undefined)
  assert.equal(await judged('/api/thing', 404, error('SessionNotFoundError', { sessionID: 'ses_1' })), undefined)
  assert.equal(await judged('/api/thing', 503, error('ServiceUnavailableError', { service: 'session' })), undefined)
})

test('a member too many, a member missing or one of another type is found, however deep', async () => {
  const wrong: [object, RegExp][] = [
    [{ ...fitting, more: 1 }, /Unrecognized key: "more"/],
    [{ ...fitting, inner: { n: 1, more: 1 } }, /Unrecognized key: "more"\s+→ at inner/],
    [{ id: 'a' }, /received undefined\s+→ at inner/],
    [{ ...fitting, inner: {} }, /received undefined\s+→ at inner\.n/],
    [{ ...fitting, inner: { n: 1.5 } }, /received number\s+→ at inner\.n/],
  ]
  for (const [body, found] of wrong) {
    assert.match((await judged('/api/thing', 200, JSON.stringify(body))) ?? '', found)
    assert.match((await judged('/api/watch', 200, `data: ${JSON.stringify(body)}\n\n`)) ?? '', found)
  }
  assert.match((await judged('/api/drop', 200, '{}')) ?? '', /with a body/)
})

test('an error that is not declared is found, and one whose body is not that of its family', async () => {
  const conflict = error('ConflictError', { resource: 'r' })
  assert.match((await judged('/api/thing', 409, conflict)) ?? '', /thing.get declares no error that is 409/)
  const message = error('MessageNotFoundError', { sessionID: 's', messageID: 'm' })
  assert.match((await judged('/api/thing', 404, message)) ?? '', /declares no error that is 404 MessageNotFoundError/)
  assert.match((await judged('/api/thing', 500, error('UnknownError', { ref: 'err_00000000' }))) ?? '', /500/)
  assert.match((await judged('/api/thing', 404, error('SessionNotFoundError'))) ?? '', /→ at sessionID/)
  assert.match((await judged('/api/none', 404, error('NotFoundError', { more: 1 }))) ?? '', /Unrecognized key/)
})

test('a protobuf message is found, also as text within a text', async () => {
  const message = JSON.stringify({ $typeName: 'portico.inference.v1.Reasoning' })
  const body = JSON.stringify({ ...fitting, id: message })
  assert.match((await judged('/api/thing', 200, body)) ?? '', /200: a protobuf message/)
  assert.match((await judged('/api/watch', 200, `data: ${body}\n\n`)) ?? '', /an event: a protobuf message/)
})
