import assert from 'node:assert/strict'
import test from 'node:test'
import { SpanStatusCode } from '@opentelemetry/api'
import { openFacade } from '#test/support/facade.ts'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import { type RecordedSpans, recordSpans } from '#test/support/spans.ts'
import { stubSession } from '#test/support/stub-session.ts'
import { waitFor } from '#test/support/wait-until.ts'

const GET = 'portico.session.v1.SessionService/GetSession'
const traceId = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${traceId}-b7ad6b7169203331-01`

async function settled(spans: RecordedSpans, name: string): Promise<void> {
  const names = () => spans.ended().map((span) => span.name)
  await waitFor(`the span ${name}`, () => names().includes(name), names)
}

test('a request is one span, named by its route, above the spans of its calls', async () => {
  await using spans = await recordSpans()
  await using facade = await openFacade({
    session: { getSession: ({ sessionId }) => ({ session: stubSession({ sessionId }) }) },
  })
  await (await facade.fetch('/api/session/ses_1?secret=1', { headers: { traceparent } })).text()
  const name = 'GET /api/session/:sessionID'
  await settled(spans, name)
  const span = spans.named(name)
  assert.deepEqual(span.attributes, {
    'http.request.method': 'GET',
    'url.path': '/api/session/ses_1',
    'http.response.status_code': 200,
    'http.route': '/api/session/:sessionID',
  })
  assert.equal(span.spanContext().traceId, traceId)
  assert.equal(spans.named(GET).parentSpanContext?.spanId, span.spanContext().spanId)
})

test('a failure marks the span; a trace of a caller from elsewhere is not continued', async () => {
  await using spans = await recordSpans()
  const env = { PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'p' }
  await using facade = await openFacade(
    {
      session: {
        getSession: () => {
          throw new Error('x')
        },
      },
    },
    env,
  )
  const authorization = `Basic ${Buffer.from('portico:p').toString('base64')}`
  await (await facade.fetch('/api/session/ses_1', { headers: { traceparent, authorization } })).text()
  const name = 'GET /api/session/:sessionID'
  await settled(spans, name)
  const span = spans.named(name)
  assert.equal(span.status.code, SpanStatusCode.ERROR)
  assert.notEqual(span.spanContext().traceId, traceId)
})

test('the member `trace` of a request is on the span of its generation, in any dialect', async () => {
  await using spans = await recordSpans()
  await using portico = await openPortico()
  const messages = [{ role: 'user', content: 'Hello' }]
  const trace = { trace_id: 't-1', generation_name: 'greeting', mine: { deep: [1] } }
  for (const [path, body] of [
    ['responses', { input: 'Hello' }],
    ['chat/completions', { messages }],
    ['messages', { messages, max_tokens: 9 }],
  ] as const) {
    const answer = await portico.fetch(`/api/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'portico/echo', trace: { ...trace, trace_name: path }, ...body }),
    })
    assert.equal(answer.status, 200, await answer.text())
    const isOfIt = ({ attributes }: { attributes: object }): boolean =>
      Object.entries(attributes).some(([name, value]) => name === 'portico.trace.trace_name' && value === path)
    await waitFor('the span', () => spans.ended().some(isOfIt))
    const { attributes } = spans.ended().find(isOfIt) ?? assert.fail()
    const traced = Object.entries(attributes).filter(([name]) => name.startsWith('portico.trace.'))
    assert.deepEqual(Object.fromEntries(traced), {
      ...{ 'portico.trace.trace_id': 't-1', 'portico.trace.trace_name': path },
      ...{ 'portico.trace.generation_name': 'greeting', 'portico.trace.mine': '{"deep":[1]}' },
    })
    assert.equal(attributes['gen_ai.request.model'], 'echo')
  }
})
