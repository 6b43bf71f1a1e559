import assert from 'node:assert/strict'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'

const PATH = '/api/v1/chat/completions'

/** Posts a body, or a string as it is, with the workspace key. */
export function postChat(
  portico: Pick<Portico, 'fetch'>,
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
export async function askChat(portico: Portico, request: Json, headers?: Record<string, string>): Promise<Json> {
  const answer = await postChat(portico, request, headers)
  const body = (await answer.json()) as Json
  assert.equal(answer.status, 200, JSON.stringify(body))
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(answer.headers.get('x-generation-id'), body.id)
  return body
}

/** Requests a stream, and returns its chunks. */
export async function streamChat(portico: Portico, request: Json, headers?: Record<string, string>): Promise<Json[]> {
  const answer = await postChat(portico, { ...request, stream: true }, headers)
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  const chunks = chunksOf(text)
  assert.equal(answer.headers.get('x-generation-id'), chunks[0]?.id)
  return chunks
}

/** The chunks of a whole stream; each frame is one line, and the last one marks the end. */
export function chunksOf(text: string): Json[] {
  const frames = text.split('\n\n')
  assert.equal(frames.pop(), '')
  assert.equal(frames.pop(), 'data: [DONE]')
  return frames.map((frame) => {
    assert.match(frame, /^data: [^\n]*$/)
    return JSON.parse(frame.slice('data: '.length)) as Json
  })
}

/** What clients make of the chunks of a stream: the message, assembled member by member. */
export function foldChunks(chunks: readonly Json[]): Json {
  const message: Json = { role: 'assistant', content: null, refusal: null, reasoning: null }
  const calls: Json[] = []
  for (const chunk of chunks) {
    const delta: Json = chunk.choices[0]?.delta ?? {}
    for (const name of ['content', 'refusal', 'reasoning']) {
      if (delta[name] !== undefined && delta[name] !== '') message[name] = (message[name] ?? '') + delta[name]
    }
    for (const { index, ...call } of structuredClone(delta.tool_calls ?? [])) {
      if (calls[index] === undefined) calls[index] = call
      else if (call.custom === undefined) calls[index].function.arguments += call.function.arguments
      else calls[index].custom.input += call.custom.input
    }
    for (const name of ['images', 'files', 'annotations']) {
      if (delta[name] !== undefined) message[name] = [...(message[name] ?? []), ...delta[name]]
    }
    for (const detail of delta.reasoning_details ?? []) addDetail(message, detail)
  }
  return calls.length === 0 ? message : { ...message, tool_calls: calls }
}

/** Pieces of one thought are one detail, as clients assemble them. */
function addDetail(message: Json, detail: Json): void {
  message.reasoning_details ??= []
  const details: Json[] = message.reasoning_details
  const last = details.at(-1)
  const continues = last?.type === detail.type && last?.index === detail.index
  if (last === undefined || !continues || detail.type === 'reasoning.encrypted') {
    details.push({ ...detail })
    return
  }
  const { text = '', summary = '', ...rest } = detail
  if (last.text !== undefined || text !== '') last.text = (last.text ?? '') + text
  if (last.summary !== undefined) last.summary += summary
  Object.assign(last, rest)
}

/** Usage of that many tokens at no known cost. */
export function chatUsage(prompt: number, completion: number, more: Json = {}): Json {
  const { reasoning = 0, cached = 0, written = 0, ...others } = more
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: reasoning },
    is_byok: false,
    ...others,
  }
}

/** The cost of a free completion. */
export const FREE = {
  cost: 0,
  cost_details: {
    upstream_inference_cost: null,
    upstream_inference_prompt_cost: 0,
    upstream_inference_completions_cost: 0,
  },
}

/** A whole completion of portico/echo. */
export function completion(answer: Json, message: Json, more: Json = {}): Json {
  const { finish = 'stop', native = finish, usage, ...others } = more
  return {
    id: answer.id,
    object: 'chat.completion',
    created: answer.created,
    model: 'portico/echo',
    provider: 'portico',
    system_fingerprint: null,
    service_tier: null,
    choices: [
      {
        index: 0,
        finish_reason: finish,
        native_finish_reason: native,
        logprobs: null,
        message: { role: 'assistant', content: null, refusal: null, reasoning: null, ...message },
      },
    ],
    ...(usage === undefined ? {} : { usage }),
    ...others,
  }
}
