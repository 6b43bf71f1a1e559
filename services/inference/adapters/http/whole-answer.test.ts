import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { eventsOf, type FlatEvent, type FlatPart, wholeEventsOf } from '#test/support/generation.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { ProviderSet } from '../providers/provider-set.ts'

const key = 'sk-very-secret-key'
const protocols = ['openai', 'anthropic', 'openai-responses'] as const
type Protocol = (typeof protocols)[number]

async function open(protocol: Protocol, answer: (response: ServerResponse) => unknown, timeoutMs = 3_600_000) {
  const stub = await startStub(answer)
  const config = { id: 'p', protocol, baseUrl: `${stub.url}/v1`, apiKey: key, headers: {}, models: [] }
  const set = new ProviderSet([config], timeoutMs, silentLogger)
  const provider = set.byId.get('p') ?? assert.fail()
  return {
    stub,
    provider,
    whole: (signal = new AbortController().signal) => wholeEventsOf(provider, { maxOutputTokens: 1_000 }, signal),
    async [Symbol.asyncDispose]() {
      await set[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

/** The content of an answer, in whatever form it came. */
function outcome(events: readonly FlatEvent[]) {
  const parts: FlatPart[] = []
  for (const event of events) if (event.case === 'partEnded') parts[event.index] = event.part
  return {
    begins: events[0]?.case,
    parts: parts.map((part) =>
      part.case === 'toolCall' && !part.custom ? { ...part, arguments: JSON.parse(part.arguments) as unknown } : part,
    ),
    sources: events.filter(({ case: name }) => name === 'source'),
    usage: events.findLast(({ case: name }) => name === 'usage'),
    end: events.at(-1),
  }
}

for (const [protocol, name] of [
  ['openai', 'openai-text'],
  ['openai', 'openai-tools'],
  ['openai', 'openrouter-reasoning'],
  ['openai', 'ollama-tools'],
  ['openai', 'openai-sources'],
  ['anthropic', 'anthropic-tools'],
  ['anthropic', 'anthropic-sources'],
  ['openai-responses', 'responses-text'],
  ['openai-responses', 'responses-tools'],
] as const) {
  test(`${name}: a whole answer is requested as JSON, and has the same outcome as a stream`, async () => {
    await using whole = await open(protocol, answers(200, fixture(`${name}.json`)))
    await using streamed = await open(protocol, streams(fixture(`${name}.sse`)))
    const events = await whole.whole()
    assert.deepEqual(outcome(events), outcome(await eventsOf(streamed.provider)))
    const asked = [whole, streamed].map(({ stub: { seen } }) => {
      const { stream } = Object(seen[0]?.body)
      return [stream, seen[0]?.headers.accept]
    })
    assert.deepEqual(asked, [
      [false, 'application/json'],
      [true, 'text/event-stream'],
    ])
  })
}

test('sources name their part and their place in it, and the annotations of a part are kept unchanged', async () => {
  const citedText = 'A lease is a right for a time.'
  const source = { url: 'https://example.com/lease', title: 'Leases', citedText }
  for (const [protocol, partIndex, places, kinds] of [
    ['openai', 0, { start: 0, end: 6 }, ['url_citation', 'file_citation']],
    // The input of the provider's own tool comes before the text.
    ['anthropic', 1, {}, ['web_search_result_location']],
  ] as const) {
    await using opened = await open(protocol, answers(200, fixture(`${protocol}-sources.json`)))
    const { parts, sources } = outcome(await opened.whole())
    assert.deepEqual(sources[0], { case: 'source', partIndex, ...source, ...places })
    const { annotations, citations } = (parts[partIndex]?.providerMetadata ?? {}) as Record<string, { type: string }[]>
    assert.deepEqual(
      (annotations ?? citations)?.map(({ type }) => type),
      kinds,
    )
  }
})

test('every status has its reason, with the provider’s message and how long to wait, and never the key', async () => {
  for (const protocol of protocols) {
    for (const [status, body, headers, reason, message] of [
      [400, { error: { message: 'bad\nfield' } }, {}, 'PROVIDER_REFUSED', 'bad field'],
      [401, { error: { message: `key ${key} is wrong` } }, {}, 'PROVIDER_REFUSED', 'key *** is wrong'],
      [429, { error: { message: 'slow down' } }, { 'retry-after': '7' }, 'PROVIDER_RATE_LIMITED', 'slow down'],
      [500, '<html>oops</html>', {}, 'PROVIDER_UNAVAILABLE', 'Status 500'],
      [504, 'late', {}, 'PROVIDER_TIMEOUT', 'late'],
      [529, { type: 'error', error: { message: 'full' } }, {}, 'PROVIDER_UNAVAILABLE', 'full'],
    ] as const) {
      await using opened = await open(protocol, answers(status, body, headers))
      const retry: Record<string, string> = 'retry-after' in headers ? { retry_after: headers['retry-after'] } : {}
      const metadata = { provider: 'p', status: String(status), message, ...retry }
      await assert.rejects(opened.whole(), reasonOfRejection(reason, metadata))
    }
  }
})

test('a 200 without a whole answer is not an answer: broken JSON, an error, nothing, an answer that never ended', async () => {
  const [openai, anthropic, responses] = protocols
  const notJson = 'It sent an answer that is not a JSON object'
  for (const [protocol, body, reason, metadata] of [
    [openai, '{"choices":[{"mess', 'PROVIDER_UNAVAILABLE', { message: notJson }],
    [anthropic, '<html>', 'PROVIDER_UNAVAILABLE', { message: notJson }],
    [openai, '[]', 'PROVIDER_UNAVAILABLE', { message: notJson }],
    [openai, '', 'PROVIDER_UNAVAILABLE', { message: notJson }],
    [openai, { choices: [] }, 'PROVIDER_UNAVAILABLE', { message: 'The answer was cut off' }],
    [openai, { error: { code: 429, message: 'no' } }, 'PROVIDER_RATE_LIMITED', { status: '429', message: 'no' }],
    [
      anthropic,
      { content: [{ case: 'text', text: 'x' }] },
      'PROVIDER_UNAVAILABLE',
      { message: 'The answer was cut off' },
    ],
    [responses, { status: 'in_progress', output: [] }, 'PROVIDER_UNAVAILABLE', { message: 'The answer was cut off' }],
    [
      responses,
      { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'no' } },
      'PROVIDER_RATE_LIMITED',
      { status: '429', message: 'no', code: 'rate_limit_exceeded' },
    ],
    [
      anthropic,
      { type: 'error', error: { type: 'overloaded_error', message: 'no' } },
      'PROVIDER_UNAVAILABLE',
      { status: '529', message: 'no', code: 'overloaded_error' },
    ],
  ] as const) {
    await using opened = await open(protocol, answers(200, body))
    await assert.rejects(opened.whole(), reasonOfRejection(reason, { provider: 'p', ...metadata }))
  }
})

test('a body that is cut or longer than 32 MiB is no answer, and its connection is closed', async () => {
  const body = fixture('openai-text.json')
  const head = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const cut = (response: ServerResponse): void => {
    response.writeHead(200, head).write(body.slice(0, 40), () => response.destroy())
  }
  await using short = await open('openai', cut)
  await assert.rejects(short.whole(), reasonOfRejection('PROVIDER_UNAVAILABLE'))
  const flood = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
    }
    response.on('drain', more)
    more()
  }
  await using long = await open('openai', flood)
  const metadata = { provider: 'p', message: 'The answer is too long' }
  await assert.rejects(long.whole(), reasonOfRejection('PROVIDER_UNAVAILABLE', metadata))
  await long.stub.hungUp
})

test('a provider may be silent for as long as it generates, but not in the middle of its answer', async () => {
  const body = fixture('openai-text.json')
  await using patient = await open(
    'openai',
    async (response) => {
      await delay(400)
      answers(200, body)(response)
    },
    50,
  )
  assert.equal((await patient.whole()).at(-1)?.case, 'finished')
  await using stuck = await open('openai', (response) => void response.writeHead(200).write(body.slice(0, 40)), 50)
  await assert.rejects(stuck.whole(), reasonOfRejection('PROVIDER_TIMEOUT', { provider: 'p' }))
})

test('an abort ends the provider’s request at once, before its answer and in it', async () => {
  for (const answer of [() => {}, (response: ServerResponse) => void response.writeHead(200).write('{"id":')]) {
    await using opened = await open('openai', answer)
    const controller = new AbortController()
    const reason = new Error('gone')
    const generation = opened.whole(controller.signal)
    await waitFor('a request at the provider', () => opened.stub.seen.length > 0)
    controller.abort(reason)
    await assert.rejects(generation, (error) => error === reason)
    await opened.stub.hungUp
  }
})

test('a server that streams even when a whole answer was requested is understood all the same', async () => {
  await using opened = await open('openai', streams(fixture('openai-text.sse')))
  assert.deepEqual(outcome(await opened.whole()).end, {
    case: 'finished',
    reason: FinishReason.STOP,
    rawReason: 'stop',
    serviceTier: 'default',
  })
})

test('a connection serves one whole answer after the other', async () => {
  const ports = new Set<number | undefined>()
  await using opened = await open('openai', (response) => {
    ports.add(response.socket?.remotePort)
    answers(200, fixture('openai-text.json'))(response)
  })
  for (let i = 0; i < 5; i++) {
    await opened.whole()
    await delay(5)
  }
  assert.ok(ports.size < 5, `${ports.size} connections`)
})
