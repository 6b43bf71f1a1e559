import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'
import { DIALECTS, type Dialect } from './dialects.ts'
import { UPSTREAMS, type Upstream } from './upstreams.ts'

/** Whatever a provider does wrong: every dialect gets the right error in time, and every request has one row. */
type Answer = (response: ServerResponse, upstream: Upstream, streamed: boolean) => void

const frame = (event: Json | string) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`

/** Half of an answer, and then what `next` does. */
function half(next: (response: ServerResponse) => void): Answer {
  return (response, upstream, streamed) => {
    response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' })
    const events = upstream.ending('length')
    const said = streamed
      ? events.slice(0, upstream.protocol === 'anthropic' ? 3 : upstream.protocol === 'openai' ? 1 : 2)
      : []
    const text = streamed ? said.map(frame).join('') : JSON.stringify(upstream.whole).slice(0, 40)
    response.write(text, () => next(response))
  }
}

const flood: Answer = (response, upstream, streamed) => {
  const text = 'x'.repeat(100_000)
  const more: Record<Upstream['protocol'], Json> = {
    openai: { choices: [{ delta: { content: text } }] },
    'openai-responses': { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: text },
    anthropic: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  }
  const piece = streamed ? frame(more[upstream.protocol]) : ' '.repeat(1_000_000)
  half((response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', write)
    write()
  })(response, upstream, streamed)
}

const FAULTS: Readonly<Record<string, { readonly answer: Answer; readonly before: number; readonly within?: string }>> =
  {
    'a status 429': { answer: (response) => answers(429, { error: { message: 'slow down' } })(response), before: 429 },
    'a status 500': { answer: (response) => answers(500, 'oops')(response), before: 502 },
    'an answer of the wrong type': {
      answer: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      before: 502,
    },
    silence: { answer: () => {}, before: 408 },
    'an answer that stalls': { answer: half(() => {}), before: 408, within: 'timeout' },
    'an answer that is cut': {
      answer: half((response) => response.destroy()),
      before: 502,
      within: 'provider_unavailable',
    },
    'an answer that is no JSON': {
      answer: half((response) => response.end('{"a":\n\ndata: {"a":\n\n')),
      ...{ before: 502, within: 'provider_unavailable' },
    },
    'an endless answer': { answer: flood, before: 502, within: 'length' },
  }

let stub: ProviderStub
let portico: Portico
let fault: Answer = () => assert.fail()
let asked = 0

before(async () => {
  stub = await startStub((response) => {
    const { path, body } = stub.seen.at(-1) ?? assert.fail()
    const upstream = UPSTREAMS.find((known) => known.path === path) ?? assert.fail(path)
    fault(response, upstream, Object(body).stream === true)
  })
  const providers = UPSTREAMS.flatMap(({ protocol }) => [
    { id: `up-${protocol}`, protocol, baseURL: `${stub.url}/v1` },
    // Nothing listens there.
    { id: `down-${protocol}`, protocol, baseURL: 'http://127.0.0.1:1/v1' },
  ])
  portico = await openPortico({
    ...{ PORTICO_CONFIG: providerConfig(providers), PORTICO_GENERATION_TIMEOUT_SECONDS: '3' },
    PORTICO_PROVIDER_TIMEOUT_SECONDS: '1',
  })
})

after(async () => {
  await portico[Symbol.asyncDispose]()
  await stub[Symbol.asyncDispose]()
})

/** The status, or, once it was 200, what the stream says of its end. */
async function outcome(dialect: Dialect, model: string, streamed: boolean): Promise<unknown> {
  asked++
  const response = await dialect.post(portico, { model, ...dialect.prompt('Hello'), stream: streamed }, {})
  const text = await response.text()
  if (response.status !== 200) {
    assert.equal(typeof JSON.parse(text).error.message, 'string')
    return response.status
  }
  if (!streamed) return dialect.read(JSON.parse(text)).stop === dialect.reasons.length ? 'length' : text.slice(0, 300)
  const events = text.split('\n').flatMap((line) => (/^data: \{/.test(line) ? [JSON.parse(line.slice(6)) as Json] : []))
  for (const { type, response, error, choices, delta } of events.toReversed()) {
    if (type === 'response.failed') return response.error_type
    if (type === 'response.incomplete' || delta?.stop_reason === 'max_tokens') return 'length'
    if (error !== undefined) return error.error_type ?? error.metadata?.error_type
    if (choices?.[0]?.finish_reason) return choices[0].finish_reason
  }
  return text.slice(0, 300)
}

async function outcomes(prefix: 'up' | 'down', streamed: boolean): Promise<Record<string, unknown>> {
  const cells = DIALECTS.flatMap((dialect) => UPSTREAMS.map(({ protocol }) => ({ dialect, protocol })))
  const found = cells.map(async ({ dialect, protocol }) => {
    return [`${dialect.name} × ${protocol}`, await outcome(dialect, `${prefix}-${protocol}/m`, streamed)] as const
  })
  return Object.fromEntries(await Promise.all(found))
}

const same = (value: unknown) =>
  Object.fromEntries(DIALECTS.flatMap(({ name }) => UPSTREAMS.map(({ protocol }) => [`${name} × ${protocol}`, value])))

test('a provider that cannot be reached', async () => {
  for (const streamed of [false, true]) assert.deepEqual(await outcomes('down', streamed), same(502))
})

for (const [name, { answer, before, within }] of Object.entries(FAULTS)) {
  test(name, async () => {
    fault = answer
    const whole = await outcomes('up', false)
    // Anthropic streams long answers always; only there a whole one is not read to its end.
    const long = name === 'an endless answer' ? { 'responses × anthropic': 'length', 'chat × anthropic': 'length' } : {}
    assert.deepEqual(whole, { ...same(before), ...long }, 'whole')
    assert.deepEqual(await outcomes('up', true), same(within ?? before), 'streamed')
  })
}

test('every request has one row', async () => {
  const authorization = `Bearer ${PORTICO_KEYS.management}`
  const response = await portico.fetch('/api/v1/activity', { headers: { authorization } })
  const { data } = (await response.json()) as { data: { requests: number }[] }
  assert.equal(
    data.reduce((sum, { requests }) => sum + requests, 0),
    asked,
  )
})
