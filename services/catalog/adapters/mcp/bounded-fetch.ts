import type { FetchLike } from '@modelcontextprotocol/client'
import { type Dispatcher, fetch as undiciFetch } from 'undici'
import { MAX_MESSAGE_BYTES, MessageError, MessageGauge } from '../commands/message-gauge.ts'
import { MAX_UNSOLICITED_BYTES, Pace } from './pace.ts'

const MAX_ERROR_BYTES = 64 << 10
const WHITE_SPACE = new Set([0x20, 0x09, 0x0a, 0x0d])
const BRACE = 0x7b
/** How many events are passed on at once. */
const AT_ONCE = 20
/** An empty line and the end of the line before it, in any of the forms that a stream of events may have. */
const EMPTY_LINE = /(?:\r\n|\n|\r(?!\n)){2,}/g

/**
 * A fetch that measures bodies: one that exceeds the limits of a message, or is a list of messages, breaks off, and the
 * others are passed on at a limited rate. `onAnswer` is called with each response, or with the error instead.
 */
export function boundedFetch(
  dispatcher: Dispatcher,
  onAnswer: (method: string, answer: Response | Error) => void,
): FetchLike {
  const fetch = undiciFetch as unknown as (url: string | URL, init: object) => Promise<Response>
  return async (url, init) => {
    const method = init?.method ?? 'GET'
    try {
      const response = await fetch(url, { ...init, dispatcher })
      onAnswer(method, response)
      return measure(response, method, method === 'GET' && !new Headers(init?.headers).has('last-event-id'))
    } catch (error) {
      if (init?.signal?.aborted !== true) onAnswer(method, error instanceof Error ? error : new Error(String(error)))
      throw error
    }
  }
}

/** `unsolicited`: the stream of messages that answer no request. */
function measure(response: Response, method: string, unsolicited: boolean): Response {
  const { status, statusText, headers, ok, body } = response
  if (body === null) return response
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  // The client reads events from any response to a GET.
  const form =
    method === 'GET' || type === 'text/event-stream' ? 'events' : type === 'application/json' ? 'message' : 'text'
  const limit = !ok ? MAX_ERROR_BYTES : unsolicited ? MAX_UNSOLICITED_BYTES : MAX_MESSAGE_BYTES
  return new Response(ReadableStream.from(pieces(body, limit, ok ? form : 'text')), { status, statusText, headers })
}

async function* pieces(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  form: 'events' | 'message' | 'text',
): AsyncGenerator<Uint8Array> {
  const gauge = new MessageGauge(limit)
  const pace = new Pace()
  let begun = form !== 'message'
  for await (const chunk of body) {
    const first = begun ? undefined : chunk.find((byte) => !WHITE_SPACE.has(byte))
    begun ||= first !== undefined
    // A list of messages, which only an early version of the protocol had, would be processed all at once.
    if (first !== undefined && first !== BRACE) throw new MessageError('it sent something else than one message')
    const ends = form === 'events' ? endsOfEvents(chunk) : []
    let from = 0
    for (const end of ends) {
      gauge.add(chunk.subarray(from, end))
      gauge.reset()
      from = end
    }
    gauge.add(chunk.subarray(from))
    let passed = 0
    for (const [i, end] of ends.entries()) {
      if (i % AT_ONCE !== AT_ONCE - 1) continue
      yield chunk.subarray(passed, end)
      await pace.pass(AT_ONCE, end - passed)
      passed = end
    }
    if (passed < chunk.length) yield chunk.subarray(passed)
    await pace.pass(ends.length % AT_ONCE, chunk.length - passed)
  }
}

/**
 * The positions after empty lines in these bytes, where events end. An empty line split between chunks is found late,
 * which does no harm.
 */
function endsOfEvents(chunk: Uint8Array): number[] {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
  return [...text.matchAll(EMPTY_LINE)].map(({ index, 0: { length } }) => index + length)
}
