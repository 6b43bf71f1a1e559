import type { ServerResponse } from 'node:http'
import { type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

/** A call of a tool; a string is the input of a free-form tool. */
export interface ScriptedCall {
  readonly name: string
  readonly input: Json | string
}

/** One call: the first of these whose tool is offered. */
export type ScriptedStep = readonly ScriptedCall[]

/** What a model calls in answer to the first prompt, and to the second. */
export type Script = readonly [readonly ScriptedStep[], readonly ScriptedStep[]]

/** Second prompt of every conversation; any other is the first. */
export const SECOND_PROMPT = 'Once again, please.'

/**
 * A model behind Anthropic's Messages API and OpenAI's Responses API, which calls what a script says, one tool after
 * the other.
 */
export function startScriptedModel(script: Script): Promise<ProviderStub> {
  const stub = startStub(async (response) => {
    const { path, body } = (await stub).seen.at(-1) as { path: string; body: Json }
    const calls = [...script[0], ...script[1]].slice(
      0,
      JSON.stringify(body).includes(SECOND_PROMPT) ? undefined : script[0].length,
    )
    if (path.endsWith('/v1/messages')) answerMessages(response, body, calls)
    else if (path.endsWith('/responses')) answerResponses(response, body, calls)
    else response.writeHead(404).end('{}')
  })
  return stub
}

/** The next call of a conversation with that many calls so far; undefined: no more, or no tool for it. */
function nextOf(calls: readonly ScriptedStep[], made: number, tools: readonly Json[] = []): ScriptedCall | undefined {
  return calls[made]?.find((call) => tools.some(({ name }) => name === call.name))
}

function frame(type: string, members: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}

const STREAM = { 'content-type': 'text/event-stream' }

function answerMessages(response: ServerResponse, body: Json, calls: readonly ScriptedStep[]): void {
  const blocks: Json[] = body.messages.flatMap(({ content }: Json) => content)
  const made = blocks.filter(({ type }) => type === 'tool_use').length
  const call = nextOf(calls, made, body.tools)
  // A free-form tool is a function here.
  const input = typeof call?.input === 'string' ? { input: call.input } : call?.input
  const block =
    call === undefined
      ? { type: 'text', text: 'Done.' }
      : { type: 'tool_use', id: `toolu_${made}`, name: call.name, input }
  const stop_reason = call === undefined ? 'end_turn' : 'tool_use'
  const usage = { input_tokens: 9, output_tokens: 3 }
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ content: [block], stop_reason, usage }))
    return
  }
  const partial_json = JSON.stringify(input)
  const delta =
    call === undefined ? { type: 'text_delta', text: block.text } : { type: 'input_json_delta', partial_json }
  const begun = call === undefined ? { ...block, text: '' } : { ...block, input: {} }
  response.writeHead(200, STREAM)
  response.write(frame('message_start', { message: { content: [], usage } }))
  response.write(frame('content_block_start', { index: 0, content_block: begun }))
  response.write(frame('content_block_delta', { index: 0, delta }))
  response.write(frame('content_block_stop', { index: 0 }))
  response.write(frame('message_delta', { delta: { stop_reason }, usage }))
  response.end(frame('message_stop', {}))
}

function answerResponses(response: ServerResponse, body: Json, calls: readonly ScriptedStep[]): void {
  const items: Json[] = Array.isArray(body.input) ? body.input : []
  const made = items.filter(({ type }) => type === 'function_call' || type === 'custom_tool_call').length
  const item = itemOf(nextOf(calls, made, body.tools), made)
  const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 }
  const whole = { id: `resp_${made}`, object: 'response', created_at: 1, model: body.model, status: 'completed' }
  const answer = { ...whole, output: [item], usage }
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    return
  }
  const at = { output_index: 0 }
  const { content: _1, arguments: args, input, ...bare } = item
  const begun = { ...bare, status: 'in_progress', ...('content' in item ? { content: [] } : {}) }
  response.writeHead(200, STREAM)
  response.write(frame('response.created', { response: { ...whole, status: 'in_progress', output: [] } }))
  response.write(
    frame('response.output_item.added', {
      ...at,
      item: {
        ...begun,
        ...(args === undefined ? {} : { arguments: '' }),
        ...(input === undefined ? {} : { input: '' }),
      },
    }),
  )
  const inItem = { ...at, item_id: item.id }
  if (args !== undefined) response.write(frame('response.function_call_arguments.delta', { ...inItem, delta: args }))
  if (input !== undefined) response.write(frame('response.custom_tool_call_input.delta', { ...inItem, delta: input }))
  if ('content' in item) {
    const part = { type: 'output_text', text: '', annotations: [] }
    response.write(frame('response.content_part.added', { ...inItem, content_index: 0, part }))
    response.write(frame('response.output_text.delta', { ...inItem, content_index: 0, delta: 'Done.' }))
  }
  response.write(frame('response.output_item.done', { ...at, item }))
  response.end(frame('response.completed', { response: answer }))
}

function itemOf(call: ScriptedCall | undefined, made: number): Json {
  const status = 'completed'
  if (call === undefined) {
    const content = [{ type: 'output_text', text: 'Done.', annotations: [] }]
    return { type: 'message', id: `msg_${made}`, role: 'assistant', status, content }
  }
  const { name, input } = call
  const own = { call_id: `call_${made}`, name, status }
  return typeof input === 'string'
    ? { type: 'custom_tool_call', id: `ctc_${made}`, ...own, input }
    : { type: 'function_call', id: `fc_${made}`, ...own, arguments: JSON.stringify(input) }
}
