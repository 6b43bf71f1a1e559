import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLogger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import { recordSpans } from '#test/support/spans.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { event, probe } from './probe.ts'

const METHOD = 'portico.session.v1.SessionService'

const store = {
  async load(id: string) {
    return id
  },
  async *read() {
    yield 1
    yield 2
  },
}

/** The names of a span's ancestors, nearest first, and of itself. */
function lineage(spans: readonly ReadableSpan[], span: ReadableSpan): string[] {
  const parent = spans.find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId)
  return [span.name, ...(parent === undefined ? [] : lineage(spans, parent))]
}

forEachTransport((name, connect) => {
  const hop = (method: string) => (name === 'local' ? [method] : [method, method])

  test(`${name}: facade, two services and a store make one unbroken trace`, async () => {
    await using spans = await recordSpans()
    const port = tracedPort(store, 'SessionStore', { 'db.system.name': 'sqlite' })
    await using inner = await connect(
      probe({ getSession: async ({ sessionId }) => ({ session: { title: await port.load(sessionId) } }) }),
    )
    const peer = createClient(SessionService, inner.transport)
    await using outer = await connect(
      probe({
        async promptSession(_, { signal }) {
          await peer.getSession({ sessionId: 'ses_1' }, { signal })
          return {}
        },
      }),
    )
    const client = createClient(SessionService, outer.transport)
    await inSpan('POST /api/session', { kind: 'server' }, () => client.promptSession({}))
    await new Promise(setImmediate)

    assert.deepEqual(lineage(spans.ended(), spans.named('SessionStore.load')), [
      'SessionStore.load',
      ...hop(`${METHOD}/GetSession`),
      ...hop(`${METHOD}/PromptSession`),
      'POST /api/session',
    ])
    assert.equal(new Set(spans.ended().map((span) => span.spanContext().traceId)).size, 1)
    assert.deepEqual(spans.named('SessionStore.load').attributes, { 'db.system.name': 'sqlite' })
    const call = spans.ended().find((span) => span.name === `${METHOD}/GetSession`)
    assert.deepEqual(call?.attributes, { 'rpc.system.name': 'connectrpc', 'rpc.method': `${METHOD}/GetSession` })
  })

  test(`${name}: spans that a stream's handler opens between two messages belong to the stream's span`, async () => {
    await using spans = await recordSpans()
    const port = tracedPort(store, 'SessionStore')
    await using connection = await connect(
      probe({
        async *streamEvents() {
          yield event(1)
          await port.load('ses_1')
          for await (const number of port.read()) yield event(number)
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    await inSpan('GET /api/event', { kind: 'server' }, async () => {
      for await (const _ of client.streamEvents({}));
    })
    await new Promise(setImmediate)
    for (const work of ['SessionStore.load', 'SessionStore.read']) {
      const path = [work, ...hop(`${METHOD}/StreamEvents`), 'GET /api/event']
      assert.deepEqual(lineage(spans.ended(), spans.named(work)), path)
    }
  })

  test(`${name}: leaving a stream ends its spans`, async () => {
    await using spans = await recordSpans()
    await using connection = await connect(
      probe({
        async *streamEvents(_, { signal }) {
          for (let sent = 0; !signal.aborted; sent++) yield event(sent)
        },
      }),
    )
    for await (const _ of createClient(SessionService, connection.transport).streamEvents({})) break
    const names = () => spans.ended().map((span) => span.name)
    await waitFor('the spans of a stream', () => names().length >= hop('').length, names)
    assert.deepEqual(
      spans.ended().map((span) => span.name),
      hop(`${METHOD}/StreamEvents`),
    )
  })

  test(`${name}: a span carries the reason of a rejection, without the status of an error`, async () => {
    await using spans = await recordSpans()
    await using connection = await connect(
      probe({
        getSession: () => {
          throw new Rejection('SESSION_NOT_FOUND', { sessionId: 'ses_1' })
        },
        listSessions: () => {
          throw new TypeError('oops')
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    await assert.rejects(client.getSession({}))
    await assert.rejects(client.listSessions({}))
    await new Promise(setImmediate)
    const [refused] = spans.ended().filter((span) => span.name.endsWith('GetSession'))
    const [failed] = spans.ended().filter((span) => span.name.endsWith('ListSessions'))
    assert.equal(refused?.attributes['error.type'], 'SESSION_NOT_FOUND')
    assert.equal(refused?.attributes['rpc.status_code'], 'NOT_FOUND')
    assert.equal(refused?.status.code, SpanStatusCode.UNSET)
    assert.equal(failed?.attributes['rpc.status_code'], 'INTERNAL')
    assert.equal(failed?.status.code, SpanStatusCode.ERROR)
  })

  test(`${name}: log lines of a handler carry its request id and trace`, async () => {
    await using spans = await recordSpans()
    const lines: Record<string, unknown>[] = []
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
    const logger = createLogger({ service: 'session', level: 'info', destination })
    await using connection = await connect(
      probe({
        async getSession() {
          await new Promise(setImmediate)
          logger.info('here')
          return {}
        },
      }),
    )
    await createClient(SessionService, connection.transport).getSession({}, callOptions({ requestId: 'req_1' }))
    await new Promise(setImmediate)
    assert.equal(lines[0]?.traceId, spans.ended()[0]?.spanContext().traceId)
    if (name === 'HTTP/2') assert.equal(lines[0]?.requestId, 'req_1')
  })
})

test('without tracing a traced port is the port itself', () => {
  assert.equal(tracedPort(store, 'SessionStore'), store)
})
