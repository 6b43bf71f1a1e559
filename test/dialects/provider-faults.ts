import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import type { Portico } from '#test/support/portico.ts'
import { answers } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'
import type { Dialect } from './dialects.ts'
import type { Upstream } from './upstreams/upstream.ts'

/** What a provider does to a request. */
type Answer = (response: ServerResponse, upstream: Upstream, streamed: boolean) => void

const frame = (event: Json | string) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`

/** Half of an answer, then whatever `next` does. */
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

/**
 * Something that a provider does wrong, and what a client gets: the status or, once that was 200, how the stream ends.
 */
export interface Fault {
  readonly answer: Answer
  readonly before: number
  /** Undefined: the client gets the status. */
  readonly within?: string
}

export const FAULTS: Readonly<Record<string, Fault>> = {
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

    before: 502,
    within: 'provider_unavailable',
  },
  'an endless answer': { answer: flood, before: 502, within: 'length' },
}

/** Settings of a product whose providers fail: short timeouts. */
export const IMPATIENT = { PORTICO_GENERATION_TIMEOUT_SECONDS: '6', PORTICO_PROVIDER_TIMEOUT_SECONDS: '1' }

/** What a client gets of a fault. */
export function expected(name: string, dialect: Dialect, protocol: Upstream['protocol'], streamed: boolean): unknown {
  const { before, within = before } = FAULTS[name] ?? assert.fail(name)
  // Anthropic always streams long answers; only there is a whole one not read to its end.
  const isRead = name === 'an endless answer' && protocol === 'anthropic' && dialect.name !== 'messages'
  if (streamed) return within
  return isRead ? 'length' : before
}

/**
 * Sends the request, and returns the status or, once that was 200, how the answer ends. Fails if that is not a body of
 * the dialect.
 */
export async function outcome(
  portico: Pick<Portico, 'fetch'>,
  dialect: Dialect,
  model: string,
  streamed: boolean,
): Promise<unknown> {
  const response = await dialect.post(portico, { model, ...dialect.prompt('Hello'), stream: streamed }, {})
  const text = await response.text()
  if (response.status !== 200) {
    assert.equal(typeof JSON.parse(text).error.message, 'string')
    return response.status
  }
  if (!streamed) {
    const answer = JSON.parse(text) as Json
    // A late failure, after its status was sent.
    if (!answer.usage) return text.slice(0, 300)
    return dialect.read(answer).stop === dialect.reasons.length ? 'length' : text.slice(0, 300)
  }
  const events = text.split('\n').flatMap((line) => (/^data: \{/.test(line) ? [JSON.parse(line.slice(6)) as Json] : []))
  for (const { type, response, error, choices, delta } of events.toReversed()) {
    if (type === 'response.failed') return response.error_type
    if (type === 'response.incomplete' || delta?.stop_reason === 'max_tokens') return 'length'
    if (error !== undefined) return error.error_type ?? error.metadata?.error_type
    if (choices?.[0]?.finish_reason) return choices[0].finish_reason
  }
  return text.slice(0, 300)
}
