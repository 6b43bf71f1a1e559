import assert from 'node:assert/strict'
import type { TestGateway } from '#test/support/gateway.ts'

/** Where responses are made. */
export const PATH = '/api/v1/responses'

/** A response or an item of it; a test looks into it as it likes. */
// biome-ignore lint/suspicious/noExplicitAny: what came over the wire has no type.
export type ResponseBody = Record<string, any>

/** Asks for a JSON answer, and expects one. */
export async function ask(gateway: TestGateway, request: unknown): Promise<ResponseBody> {
  const answer = await gateway.post(PATH, request)
  const body = (await answer.json()) as ResponseBody
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body
}

/** The events of a whole stream; each has to be framed as the specification says, `event:` lines apart. */
export function eventsOf(text: string): ResponseBody[] {
  const frames = text.split('\n\n')
  assert.equal(frames.pop(), '')
  assert.equal(frames.pop(), 'data: [DONE]')
  return frames.map((frame) => {
    const [, name, data] = /^(?:event: (.*)\n)?data: (.*)$/.exec(frame) ?? []
    const event = JSON.parse(data ?? '') as ResponseBody
    if (name !== undefined) assert.equal(name, event.type)
    return event
  })
}

/** A response of portico/echo with every member, but for what a test says. */
export function whole(response: ResponseBody, more: Record<string, unknown>): Record<string, unknown> {
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
  }
}

/** A part of a message. */
export function textPart(text: string): Record<string, unknown> {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}
