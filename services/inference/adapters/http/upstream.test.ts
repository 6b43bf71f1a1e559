import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { eventsOf, type FlatEvent, flat, generationRequest, wholeEventsOf } from '#test/support/generation.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { ProviderSet } from '../providers/provider-set.ts'

const key = 'very-secret-key'
const header = 'secret-of-a-header'
const signal = new AbortController().signal
const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`

async function open(answer: (response: ServerResponse) => unknown, timeoutMs = 3_600_000) {
  const stub = await startStub(answer)
  const config = {
    id: 'p',
    protocol: 'openai',
    baseUrl: stub.url,
    apiKey: key,
    headers: { 'X-Team': header },
    models: [],
  } as const
  const set = new ProviderSet([config], timeoutMs, silentLogger)
  return {
    stub,
    provider: set.byId.get('p') ?? assert.fail(),
    async [Symbol.asyncDispose]() {
      await set[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

test('every status has its reason, with the provider’s message and the wait that it requests, and never the key', async () => {
  const cases = [
    [400, { error: { message: 'bad\nfield' } }, {}, 'PROVIDER_REFUSED', 'bad field'],
    [401, { error: `key ${key} of ${header} is wrong` }, {}, 'PROVIDER_REFUSED', 'key *** of *** is wrong'],
    [401, { error: { message: 'key sk-proj-1234****5678 is wrong' } }, {}, 'PROVIDER_REFUSED', 'key sk-*** is wrong'],
    [404, { message: 'no such model' }, {}, 'PROVIDER_REFUSED', 'no such model'],
    [429, { detail: 'slow down' }, { 'retry-after': '7' }, 'PROVIDER_RATE_LIMITED', 'slow down'],
    [408, 'late', {}, 'PROVIDER_TIMEOUT', 'late'],
    [500, '<html>oops</html>', {}, 'PROVIDER_UNAVAILABLE', 'Status 500'],
    [503, 'x'.repeat(5_000), {}, 'PROVIDER_UNAVAILABLE', `${'x'.repeat(499)}…`],
    [302, '', { location: 'http://127.0.0.1:1/' }, 'PROVIDER_UNAVAILABLE', 'Status 302'],
    [400, [{ error: { code: 400, message: 'as Google says it' } }], {}, 'PROVIDER_REFUSED', 'as Google says it'],
    [422, { detail: [{ loc: ['body'], msg: 'Field required' }] }, {}, 'PROVIDER_REFUSED', 'Field required'],
    [500, 'null', {}, 'PROVIDER_UNAVAILABLE', 'Status 500'],
    [500, '{"error":{"mess', {}, 'PROVIDER_UNAVAILABLE', 'Status 500'],
  ] as const
  for (const [status, body, headers, reason, message] of cases) {
    await using opened = await open(answers(status, body, headers))
    const retry: Record<string, string> = 'retry-after' in headers ? { retry_after: headers['retry-after'] } : {}
    const metadata = { provider: 'p', status: String(status), message, ...retry }
    await assert.rejects(eventsOf(opened.provider), reasonOfRejection(reason, metadata))
  }
})

test('a status counts, with the wait that it names, even if the body of the error is cut off or never ends', async () => {
  const refuse = (after: (response: ServerResponse) => unknown) => (response: ServerResponse) => {
    response.writeHead(429, { 'retry-after': '7' })
    response.write('{"error":{"message":"slow d', () => after(response))
  }
  for (const after of [(response: ServerResponse) => response.destroy(), () => {}]) {
    await using opened = await open(refuse(after))
    const metadata = { provider: 'p', status: '429', message: 'Status 429', retry_after: '7' }
    const asked = [eventsOf(opened.provider), wholeEventsOf(opened.provider)]
    const isRefused = reasonOfRejection('PROVIDER_RATE_LIMITED', metadata)
    await Promise.all(asked.map((answer) => assert.rejects(answer, isRefused)))
  }
})

test('a 200 that is not an event stream is refused, a known error in it by its code, and the key is not shown', async () => {
  const filtered = { status: '400', code: 'content_filter', error_type: 'content_policy_violation' }
  for (const [body, reason, more] of [
    [{ error: { message: `out of order: ${key}` } }, 'PROVIDER_UNAVAILABLE', { message: 'out of order: ***' }],
    [{ choices: [] }, 'PROVIDER_UNAVAILABLE', { message: 'The answer is not an event stream' }],
    [{ error: { code: 'content_filter', message: 'no' } }, 'PROVIDER_REFUSED', { ...filtered, message: 'no' }],
    [{ error: { code: 429, message: 'slow' } }, 'PROVIDER_RATE_LIMITED', { status: '429', message: 'slow' }],
  ] as const) {
    await using opened = await open(answers(200, body))
    await assert.rejects(eventsOf(opened.provider), reasonOfRejection(reason, { provider: 'p', ...more }))
  }
})

test('a text that looks like a key is not passed on from an error, streamed or whole', async () => {
  const error = { code: 429, message: `key sk-proj-1234****5678 is out, ${key}, ${header}` }
  const shown = { provider: 'p', status: '429', message: 'key sk-*** is out, ***, ***' }
  await using streamed = await open(streams(`data: ${JSON.stringify({ error })}\n\n`))
  await assert.rejects(eventsOf(streamed.provider), reasonOfRejection('PROVIDER_RATE_LIMITED', shown))
  await using whole = await open(answers(200, { error }))
  const answer = wholeEventsOf(whole.provider)
  await assert.rejects(answer, reasonOfRejection('PROVIDER_RATE_LIMITED', shown))
})

test('half of a key is not shown either where a long message is cut', async () => {
  const error = { code: 429, message: `${'x'.repeat(490)} ${key}` }
  await using opened = await open(streams(`data: ${JSON.stringify({ error })}\n\n`))
  const shown = { provider: 'p', status: '429', message: `${'x'.repeat(490)} ***…` }
  await assert.rejects(eventsOf(opened.provider), reasonOfRejection('PROVIDER_RATE_LIMITED', shown))
})

test('a server that is not there is unavailable', async () => {
  await using opened = await open(() => {})
  await opened.stub[Symbol.asyncDispose]()
  const metadata = { provider: 'p', message: 'It cannot be reached (ECONNREFUSED)' }
  opened.stub[Symbol.asyncDispose] = async () => {}
  await assert.rejects(eventsOf(opened.provider), reasonOfRejection('PROVIDER_UNAVAILABLE', metadata))
})

test('silence beyond the limit is a timeout, before the answer and in it', async () => {
  const silent = (response: ServerResponse): void =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' })
  const started = (response: ServerResponse): void => {
    silent(response)
    response.write(chunk('a'))
  }
  for (const answer of [() => {}, started]) {
    await using opened = await open(answer, 300)
    await assert.rejects(eventsOf(opened.provider), reasonOfRejection('PROVIDER_TIMEOUT', { provider: 'p' }))
  }
})

test('an answer that is cut hands over what came, and is unavailable', async () => {
  const events: FlatEvent[] = []
  const received = Promise.withResolvers<void>()
  const cut = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk('Hel'))
    await received.promise
    response.destroy()
  }
  await using opened = await open(cut)
  const generate = async (): Promise<void> => {
    for await (const batch of opened.provider.stream(generationRequest(), signal)) {
      events.push(...flat(batch))
      received.resolve()
    }
  }
  await assert.rejects(generate(), reasonOfRejection('PROVIDER_UNAVAILABLE'))
  assert.deepEqual(events.at(-1), { case: 'partExtended', index: 0, text: 'Hel' })
})

test('an answer without a finish reason was cut; without [DONE] it was not', async () => {
  const done = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n`
  const cases = [
    [chunk('a'), 'The answer was cut off'],
    [`${chunk('a')}data: {"cho`, 'It sent an event that is not a JSON object'],
    ['', 'The answer was cut off'],
    ['data: [DONE]\n\n', 'The answer is empty'],
  ] as const
  for (const [text, message] of cases) {
    await using opened = await open(streams(text))
    await assert.rejects(
      eventsOf(opened.provider),
      reasonOfRejection('PROVIDER_UNAVAILABLE', { provider: 'p', message }),
    )
  }
  await using opened = await open(streams(chunk('a') + done))
  assert.deepEqual((await eventsOf(opened.provider)).at(-1), {
    case: 'finished',
    reason: FinishReason.STOP,
    rawReason: 'stop',
  })
})

test('an error object in the stream is rejected by its code, after what came before', async () => {
  for (const [error, reason, status, word] of [
    [{ code: 502, message: 'gone' }, 'PROVIDER_UNAVAILABLE', '502'],
    [{ code: 'rate_limit_exceeded', message: 'gone' }, 'PROVIDER_RATE_LIMITED', '429', 'rate_limit_exceeded'],
    [{ type: 'invalid_request_error', message: 'gone' }, 'PROVIDER_REFUSED', '400', 'invalid_request_error'],
    ['gone', 'PROVIDER_UNAVAILABLE', '502'],
  ] as const) {
    const events: FlatEvent[] = []
    await using opened = await open(streams(`${chunk('a')}data: ${JSON.stringify({ error })}\n\n`))
    const generate = async (): Promise<void> => {
      for await (const batch of opened.provider.stream(generationRequest(), signal)) events.push(...flat(batch))
    }
    const code: Record<string, string> = word === undefined ? {} : { code: word }
    await assert.rejects(generate(), reasonOfRejection(reason, { provider: 'p', status, message: 'gone', ...code }))
    assert.equal(events.at(-1)?.case, 'partExtended')
  }
})

test('an abort ends the provider’s request at once: while it connects, thinks and answers', async () => {
  const head = (response: ServerResponse): void => void response.writeHead(200, { 'content-type': 'text/event-stream' })
  const talking = (response: ServerResponse): void => {
    head(response)
    response.write(chunk('a'))
  }
  const thinking = (response: ServerResponse): void => {
    head(response)
    response.flushHeaders()
  }
  for (const answer of [() => {}, thinking, talking]) {
    await using opened = await open(answer)
    const controller = new AbortController()
    const reason = new Error('gone')
    const generation = eventsOf(opened.provider, {}, controller.signal)
    await waitFor('a request at the provider', () => opened.stub.seen.length > 0)
    controller.abort(reason)
    await assert.rejects(generation, (error) => error === reason)
    await opened.stub.hungUp
  }
  await using opened = await open(() => assert.fail('nothing is to be sent'))
  const reason = new Error('gone before')
  await assert.rejects(eventsOf(opened.provider, {}, AbortSignal.abort(reason)), (error) => error === reason)
})

test('leaving the events ends the provider’s request', async () => {
  await using opened = await open((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk('a'))
  })
  for await (const _ of opened.provider.stream(generationRequest(), signal)) break
  await opened.stub.hungUp
})

test('a slow reader slows the provider: what is not pulled is not read', async () => {
  const line = chunk('x'.repeat(1_000))
  let written = 0
  const flood = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const more = (): void => {
      while (written < 100_000_000 && response.write(line)) written += line.length
    }
    response.on('drain', more)
    more()
  }
  await using opened = await open(flood)
  const events = opened.provider.stream(generationRequest(), signal)[Symbol.asyncIterator]()
  await events.next()
  let before = -1
  while (before !== written) {
    before = written
    await delay(100)
  }
  assert.ok(written < 20_000_000, `the provider could write ${written} bytes`)
  await events.return?.()
})

test('a connection serves one answer after the other', async () => {
  const ports = new Set<number | undefined>()
  await using opened = await open((response) => {
    ports.add(response.socket?.remotePort)
    streams(fixture('openai-text.sse'))(response)
  })
  for (let i = 0; i < 5; i++) {
    await eventsOf(opened.provider)
    await delay(5)
  }
  assert.ok(ports.size < 5, `${ports.size} connections`)
})

test('a provider sends the same events however its bytes are cut, with \\n, \\r\\n or \\r', async () => {
  const text = fixture('openai-text.sse')
  const pieces = { all: [] as Buffer[] }
  await using opened = await open(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.socket?.setNoDelay(true)
    for (const piece of pieces.all) {
      response.write(piece)
      await new Promise(setImmediate)
    }
    response.end()
  })
  const expected = await (async () => {
    pieces.all = [Buffer.from(text)]
    return eventsOf(opened.provider)
  })()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.integer({ min: 1, max: Buffer.byteLength(text) }), { maxLength: 12 }),
      async (newline, cuts) => {
        const bytes = Buffer.from(text.replaceAll('\n', newline))
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
        pieces.all = places.slice(1).map((place, i) => bytes.subarray(places[i], place))
        assert.deepEqual(await eventsOf(opened.provider), expected)
      },
    ),
    { numRuns: 60 },
  )
})
