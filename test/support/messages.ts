import assert from 'node:assert/strict'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import type { ProviderStub } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

/** Portico with a stub for its provider `anthropic`. */
export function openAnthropic(stub: ProviderStub, env: Record<string, string> = {}): Promise<Portico> {
  return openPortico({ ANTHROPIC_API_KEY: 'sk-ant-upstream', ANTHROPIC_BASE_URL: stub.url, ...env })
}

/** Posts a body, or a string as it is, with the workspace key, as Anthropic's clients send it. */
export function post(
  portico: Pick<Portico, 'fetch'>,
  body: unknown,
  headers: Record<string, string> = {},
  path = '/api/v1/messages',
): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const all = { 'x-api-key': PORTICO_KEYS.api, 'content-type': 'application/json', ...headers }
  return portico.fetch(path, { method: 'POST', headers: all, body: text })
}

/** Requests a JSON answer, and expects one. */
export async function ask(portico: Portico, request: Json, headers: Record<string, string> = {}): Promise<Json> {
  const answer = await post(portico, request, headers)
  const body = (await answer.json()) as Json
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body
}

/** Requests a stream, and returns its events. */
export async function stream(portico: Portico, request: Json, headers: Record<string, string> = {}): Promise<Json[]> {
  const answer = await post(portico, { ...request, stream: true }, headers)
  assert.equal(answer.status, 200, answer.status === 200 ? '' : await answer.clone().text())
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  return eventsOf(await answer.text())
}

/** The events of a whole stream; apart from comments, each has to be framed as Anthropic's clients want it. */
export function eventsOf(text: string): Json[] {
  const frames = text.split('\n\n').filter((frame) => !frame.startsWith(':'))
  assert.equal(frames.pop(), '')
  return frames.map((frame) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? []
    const event = JSON.parse(data ?? '') as Json
    assert.equal(name, event.type)
    return event
  })
}

/** The message that the events of a stream amount to, assembled the way Anthropic's clients do. */
export function messageOf(events: readonly Json[]): Json {
  const [start] = events
  assert.equal(start?.type, 'message_start')
  const message = structuredClone(start?.message as Json)
  const inputs: string[] = []
  for (const event of events) {
    const block = message.content[event.index]
    if (event.type === 'content_block_start') {
      assert.equal(event.index, message.content.push(structuredClone(event.content_block)) - 1)
    } else if (event.type === 'content_block_delta') {
      const { type, ...delta } = event.delta as Json
      if (type === 'input_json_delta') inputs[event.index] = (inputs[event.index] ?? '') + delta.partial_json
      else if (type === 'citations_delta') block.citations = [...(block.citations ?? []), delta.citation]
      else for (const [name, text] of Object.entries(delta)) block[name] += text
    } else if (event.type === 'content_block_stop') {
      const input = inputs[event.index]
      if (input) block.input = JSON.parse(input)
    } else if (event.type === 'message_delta') {
      Object.assign(message, event.delta)
      message.usage = event.usage
    } else if (event.type === 'message_stop' && event.openrouter_metadata !== undefined) {
      message.openrouter_metadata = event.openrouter_metadata
    }
  }
  assert.equal(events.at(-1)?.type, 'message_stop')
  return message
}
