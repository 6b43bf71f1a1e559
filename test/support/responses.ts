import assert from 'node:assert/strict'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import type { ProviderStub } from '#test/support/provider-stub.ts'

const PATH = '/api/v1/responses'

/** A response, an event or an item; a test reads it as it likes. */
// biome-ignore lint/suspicious/noExplicitAny: what came over the wire has no type.
export type Json = Record<string, any>

/** Portico with a stub of chat completions for its provider `openai`. */
export function openWith(stub: ProviderStub, env: Record<string, string> = {}): Promise<Portico> {
  return openPortico({ PORTICO_CONFIG: chatConfig(stub), ...env })
}

/** Posts a body, or a string as it is, with the workspace key. */
export function post(
  portico: Portico,
  body: unknown,
  headers: Record<string, string> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Response> {
  const authorization = `Bearer ${PORTICO_KEYS.api}`
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const all = { authorization, 'content-type': 'application/json', ...headers }
  return portico.fetch(PATH, { method: 'POST', headers: all, body: text, signal })
}

/** Requests a JSON answer, and expects one. */
export async function ask(portico: Portico, request: Json): Promise<Json> {
  const answer = await post(portico, request)
  const body = (await answer.json()) as Json
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body
}

/** Requests a stream in a dialect, and returns its events. */
export async function stream(portico: Portico, request: Json, dialect?: string): Promise<Json[]> {
  const headers: Record<string, string> = dialect === undefined ? {} : { 'x-stream-dialect': dialect }
  const answer = await post(portico, { ...request, stream: true }, headers)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  return eventsOf(await answer.text())
}

/** One event of a chat completion as a provider streams it. */
export function chunk(delta: Json, more: Json = {}, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`
}

/** The end of a chat completion. */
export function chatEnd(finish = 'stop', usage: Json = { prompt_tokens: 3, completion_tokens: 2 }): string {
  return `${chunk({}, { usage }, finish)}data: [DONE]\n\n`
}

/** The events of a whole stream; each has to be framed as the specification says, `event:` lines apart. */
export function eventsOf(text: string): Json[] {
  const frames = text.split('\n\n')
  assert.equal(frames.pop(), '')
  assert.equal(frames.pop(), 'data: [DONE]')
  return frames.map((frame) => {
    const [, name, data] = /^(?:event: (.*)\n)?data: (.*)$/.exec(frame) ?? []
    const event = JSON.parse(data ?? '') as Json
    if (name !== undefined) assert.equal(name, event.type)
    return event
  })
}

/** A response of portico/echo with every member, except for what a test overrides. */
export function whole(response: Json, more: Record<string, unknown>): Record<string, unknown> {
  return {
    id: response.id,
    object: 'response',
    created_at: response.created_at,
    model: 'portico/echo',
    output: [],
    output_text: '',
    status: 'completed',
    completed_at: response.completed_at,
    error: null,
    incomplete_details: null,
    usage: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    tool_choice: 'auto',
    tools: [],
    text: { format: { type: 'text' } },
    truncation: 'disabled',
    reasoning: null,
    max_output_tokens: null,
    max_tool_calls: null,
    previous_response_id: null,
    store: false,
    background: false,
    service_tier: 'default',
    safety_identifier: null,
    prompt_cache_key: null,
    user: null,
    prompt: null,
    ...more,
  }
}

/** Usage of something free. */
export function usage(input: number, output: number, reasoning = 0): Record<string, unknown> {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
    cost: 0,
    is_byok: false,
    cost_details: {
      upstream_inference_cost: null,
      upstream_inference_input_cost: 0,
      upstream_inference_output_cost: 0,
    },
  }
}

/** A part of a message. */
export function textPart(text: string): Record<string, unknown> {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}
