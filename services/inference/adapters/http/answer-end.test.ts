import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FinishReason, type Sampling } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderEvent } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { toConnectError } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { closingReasons, serviceClosing } from '#shared/rpc/server-reasons.ts'
import {
  eventsOf,
  type FlatEvent,
  flat,
  generationRequest,
  type RequestInit,
  wholeEventsOf,
} from '#test/support/generation.ts'
import { startStub, streams } from '#test/support/provider-stub.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { silentLogger } from '#test/support/transports.ts'
import { ProviderSet } from '../providers/provider-set.ts'

const said = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const delta = (content: string, rest: object = {}) => said({ choices: [{ index: 0, delta: { content } }], ...rest })
const usage = { prompt_tokens: 5, completion_tokens: 2 }
const finish = (rest: object = {}) => said({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...rest })
const grown = (text: string) =>
  said({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: text })
const anthropic = [
  said({ type: 'message_start', message: { usage: { input_tokens: 5 } } }),
  said({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hello' } }),
  said({ type: 'content_block_stop', index: 0 }),
  said({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
].join('')

/** Writes a response and, once that has reached the network, does `after`. */
function saysThen(text: string, after: (response: ServerResponse) => unknown) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text, () => setImmediate(() => after(response)))
  }
}

type Protocol = 'openai' | 'anthropic' | 'openai-responses'

async function asked<T>(
  answer: (response: ServerResponse) => unknown,
  use: (provider: ModelProvider) => Promise<T>,
  protocol: Protocol = 'openai',
): Promise<T> {
  await using stub = await startStub(answer)
  const config = { id: 'p', protocol, baseUrl: stub.url, apiKey: undefined, headers: {}, models: [] } as const
  await using set = new ProviderSet([config], 3_600_000, silentLogger)
  return await use(set.byId.get('p') ?? assert.fail())
}

const textOf = (events: readonly FlatEvent[]) =>
  events.map((event) => (event.case === 'partExtended' ? event.text : '')).join('')

test('an answer that is whole is not lost when the connection breaks after it', async () => {
  for (const [text, protocol] of [
    [delta('Hello') + finish(), 'openai'],
    [delta('Hello') + finish({ usage }), 'openai'],
    [anthropic, 'anthropic'],
  ] as const) {
    const events = await asked(
      saysThen(text, (response) => response.destroy()),
      eventsOf,
      protocol,
    )
    assert.deepEqual([textOf(events), events.at(-1)?.case], ['Hello', 'finished'])
  }
})

test('an answer whose connection breaks before its end is cut off', async () => {
  for (const text of [delta('Hello'), delta('Hello', { usage })]) {
    const answer = asked(
      saysThen(text, (response) => response.destroy()),
      eventsOf,
    )
    await assert.rejects(answer, reasonOfRejection('PROVIDER_UNAVAILABLE'))
  }
})

test('an answer ends with its reason and usage, even if the connection stays open', async () => {
  for (const text of [delta('Hello') + finish({ usage }), delta('Hello') + finish() + said({ choices: [], usage })]) {
    const events = await asked(
      saysThen(text, () => {}),
      eventsOf,
    )
    assert.deepEqual([textOf(events), events.at(-1)?.case], ['Hello', 'finished'])
  }
})

test('a server that reports usage all along, and a reason too early, is read to its end', async () => {
  const early = said({ choices: [{ delta: { content: 'Hel' }, finish_reason: 'stop' }], usage })
  const events = await asked(streams(`${early}${delta('lo', { usage })}data: [DONE]\n\n`), eventsOf)
  assert.deepEqual([textOf(events), events.at(-1)?.case], ['Hello', 'finished'])
})

// Some servers leave `finish_reason` null in every chunk, and only end with [DONE].
test('[DONE] without a reason ends an answer, for an unknown reason', async () => {
  const events = await asked(streams(`${delta('Hello')}data: [DONE]\n\n`), eventsOf)
  assert.deepEqual(events.at(-1), { case: 'finished', reason: FinishReason.OTHER })
})

test('an abort after a whole answer is an abort', async () => {
  const leaving = new AbortController()
  const text = delta('Hello') + finish()
  const answer = asked(
    saysThen(text, () => leaving.abort(new Error('left'))),
    (provider) => eventsOf(provider, {}, leaving.signal),
  )
  await assert.rejects(answer, /left/)
})

const nothing = (): void => {}

/** The events of a call that is aborted once the first of them have come. */
function endedBy(
  reason: Error,
  answer: (response: ServerResponse) => unknown,
  protocol: Protocol,
  request: RequestInit = {},
): Promise<FlatEvent[]> {
  return asked(
    answer,
    async (provider) => {
      const ending = new AbortController()
      const events: FlatEvent[] = []
      for await (const batch of provider.stream(generationRequest(request), ending.signal)) {
        events.push(...flat(batch))
        ending.abort(reason)
      }
      return events
    },
    protocol,
  )
}

test('a deadline or a stop after a complete answer, or after its stop text, does not fail it; an abort by the caller does', async () => {
  const closing = toConnectError(serviceClosing(), 'server', closingReasons)
  const request = { sampling: { stop: ['END'] } as unknown as Sampling }
  for (const [text, protocol, said] of [
    [grown('One END two'), 'openai-responses', 'One '],
    [delta('Hello') + finish(), 'openai', 'Hello'],
    [anthropic, 'anthropic', 'Hello'],
  ] as const) {
    const ended = (reason: Error) => endedBy(reason, saysThen(text, nothing), protocol, request)
    for (const reason of [new Rejection('PROVIDER_TIMEOUT', { provider: 'p' }), closing]) {
      const events = await ended(reason)
      const end = events.at(-1)
      assert.deepEqual([textOf(events), end?.case === 'finished' && end.reason], [said, FinishReason.STOP])
    }
    await assert.rejects(ended(new Error('left')), /left/)
  }
})

test('a deadline or a stop in the middle of an answer fails it', async () => {
  for (const [text, protocol] of [
    [grown('One'), 'openai-responses'],
    [delta('Hello'), 'openai'],
    [anthropic.slice(0, anthropic.indexOf('data: {"type":"message_delta"')), 'anthropic'],
  ] as const) {
    const reason = new Rejection('PROVIDER_TIMEOUT', { provider: 'p' })
    const ended = endedBy(reason, saysThen(text, nothing), protocol)
    await assert.rejects(ended, reasonOfRejection('PROVIDER_TIMEOUT', { provider: 'p' }))
  }
})

test('an answer that is too long is cut and hung up on, for its length, streamed or whole', async () => {
  const long = delta('\u0001é"'.repeat(20_000))
  const endless = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const more = (): void => {
      while (!response.destroyed && response.write(long));
    }
    response.on('drain', more)
    more()
  }
  const events = await asked(endless, eventsOf)
  assert.deepEqual(events.at(-1), { case: 'finished', reason: FinishReason.LENGTH })
  assert.ok(textOf(events).length <= 1_000_000)
  const message = { content: 'x'.repeat(3_000_000) }
  const whole = (response: ServerResponse): void => {
    response.end(JSON.stringify({ choices: [{ message, finish_reason: 'stop' }], usage }))
  }
  const cut = await asked(whole, wholeEventsOf)
  assert.deepEqual(cut.at(-1), { case: 'finished', reason: FinishReason.LENGTH, rawReason: 'stop' })
})

test('after a stop text a stream is read on for its usage, but not for longer than a second', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const events = await asked(
    saysThen(grown('One END two'), () => {}),
    async (provider) => {
      const sampling = { stop: ['END'] } as unknown as Sampling
      const request = generationRequest({ sampling })
      const batches = provider.stream(request, new AbortController().signal)[Symbol.asyncIterator]()
      const first = await batches.next()
      const second = batches.next()
      await nextTurn()
      context.mock.timers.tick(1_000)
      return [first, await second].flatMap(({ value }) => flat(value as ProviderEvent[]))
    },
    'openai-responses',
  )
  assert.equal(textOf(events), 'One ')
  assert.deepEqual(
    events.filter(({ case: name }) => name === 'withheld'),
    [{ case: 'withheld', value: 7 }],
  )
  assert.deepEqual(events.at(-1), {
    case: 'finished',
    reason: FinishReason.STOP,
    stopText: 'END',
  })
})

test('a stream that is cut for its length ends within a second, also if nothing follows', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const long = 'word '.repeat(8_000)
  for (const [text, protocol] of [
    [delta(long), 'openai'],
    [grown(long), 'openai-responses'],
    [anthropic.slice(0, anthropic.indexOf('data: {"type":"content_block_stop"')).replace('Hello', long), 'anthropic'],
  ] as const) {
    const last = await asked(
      saysThen(text, () => {}),
      async (provider) => {
        const request = generationRequest({ maxOutputTokens: 10 })
        let batch: readonly FlatEvent[] = []
        let ended = false
        const reading = (async () => {
          for await (const events of provider.stream(request, new AbortController().signal)) batch = flat(events)
          ended = true
        })()
        for (; !ended; await nextTurn()) if (batch.length > 0) context.mock.timers.tick(1_000)
        await reading
        return batch.at(-1)
      },
      protocol,
    )
    assert.partialDeepStrictEqual(last, { case: 'finished', reason: FinishReason.LENGTH })
  }
})
