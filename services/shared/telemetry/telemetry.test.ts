import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { readSingleProcessConfig } from '#shared/process/process-config.ts'
import { startTelemetry } from '#shared/telemetry/telemetry.ts'
import { detached, inSpan, isTracing, openSpan } from '#shared/telemetry/tracing.ts'
import { recordSpans } from '#test/support/spans.ts'

/** A collector on a free loopback port. */
async function collector(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('spans go to the collector by OTLP; the last ones are sent at shutdown', async () => {
  const posts: { url: string | undefined; headers: IncomingHttpHeaders; body: string }[] = []
  await using endpoint = await collector(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    posts.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString('latin1') })
    response.end()
  })
  const config = readSingleProcessConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.url }).telemetry
  const telemetry = await startTelemetry('gateway', config)
  await inSpan('GET /api/session', { kind: 'server' }, async () => {})
  await telemetry[Symbol.asyncDispose]()
  assert.equal(isTracing(), false)
  assert.equal(posts.length, 1)
  assert.equal(posts[0]?.url, '/v1/traces')
  assert.equal(posts[0]?.headers['content-type'], 'application/x-protobuf')
  assert.match(posts[0]?.body ?? '', /gateway[\s\S]*GET \/api\/session/)
})

test('a collector that never answers does not keep the process from ending', async () => {
  await using endpoint = await collector(() => {})
  const telemetry = await startTelemetry('gateway', { tracesUrl: `${endpoint.url}/v1/traces` })
  await inSpan('GET /api/session', {}, async () => {})
  // On its own, the exporter waits for 10 s.
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
  }, 9_000)
  await telemetry[Symbol.asyncDispose]()
  clearTimeout(timer)
  assert.equal(isLate, false)
})

test('without an endpoint nothing is traced', async () => {
  await using _telemetry = await startTelemetry('gateway', { tracesUrl: undefined })
  assert.equal(isTracing(), false)
  assert.equal(await inSpan('work', {}, async (span) => span), undefined)
})

test('a span goes on with the trace of a caller that is trusted, and takes its better name at its end', async () => {
  await using spans = await recordSpans()
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const span = openSpan('POST', { kind: 'server', carrier: { traceparent } })
  const outgoing: Record<string, string> = {}
  span?.inject(outgoing)
  span?.end({ name: 'POST /api/session', error: new TypeError('hunter2') })
  const recorded = spans.named('POST /api/session')
  assert.equal(recorded.spanContext().traceId, '0af7651916cd43dd8448eb211c80319c')
  assert.equal(recorded.parentSpanContext?.spanId, 'b7ad6b7169203331')
  assert.match(outgoing.traceparent ?? '', /^00-0af7651916cd43dd8448eb211c80319c-/)
  assert.deepEqual(recorded.attributes, { 'error.type': 'TypeError' })
  assert.deepEqual(recorded.events, [])
})

test('detached work begins a trace of its own', async () => {
  await using spans = await recordSpans()
  await inSpan('request', {}, () => detached(() => inSpan('drain', {}, async () => {})))
  assert.equal(spans.named('drain').parentSpanContext, undefined)
})
