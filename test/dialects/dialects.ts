import { chunksOf, foldChunks, postChat } from '#test/support/chat.ts'
import { eventsOf as messageEvents, messageOf, post as postMessages } from '#test/support/messages.ts'
import type { Portico } from '#test/support/portico.ts'
import { eventsOf, type Json, post as postResponses } from '#test/support/responses.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PDF = 'JVBERi0xLjQK'
const parameters = { type: 'object', properties: { path: { type: 'string' } } }
const schema = {
  type: 'object',
  properties: { end: { type: 'boolean' } },
  required: ['end'],
  additionalProperties: false,
}

/** An answer as far as the table checks it, in whichever dialect it came. */
export interface Answer {
  readonly thought: string
  readonly text: string
  readonly sources: readonly string[]
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[]
  /** The dialect's own word. */
  readonly stop: string
  readonly inputTokens: number
  readonly outputTokens: number
  /** Names of what was not applied. */
  readonly leftOut: readonly string[]
}

/** A public dialect: how a request is written in it, and how its answers are read. */
export interface Dialect {
  readonly name: 'responses' | 'chat' | 'messages'
  /** The dialect's words for why an answer ended. */
  readonly reasons: { readonly tools: string; readonly stop: string; readonly length: string; readonly filter: string }
  /** Whether a request can name stop texts. */
  readonly stops: boolean
  /** A conversation with a picture, a file and an answered call; two tools, a schema, and limits. */
  readonly request: Json
  post(portico: Pick<Portico, 'fetch'>, body: Json, headers: Record<string, string>): Promise<Response>
  /** The whole answer that a stream amounts to, assembled the way clients do. */
  fold(text: string): Json
  read(answer: Json): Answer
  /** A request that says one thing and allows two tool calls. */
  prompt(text: string): Json
  /** The request with an answer and the results of its calls as history. */
  next(request: Json, answer: Json): Json
}

const leftOut = ({ openrouter_metadata: metadata }: Json) =>
  (metadata?.pipeline ?? []).map(({ name }: Json) => name as string)

const responses: Dialect = {
  name: 'responses',
  reasons: { tools: 'completed', stop: 'completed', length: 'max_output_tokens', filter: 'content_filter' },
  stops: false,
  request: {
    instructions: 'Be brief.',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
          { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
        ],
      },
      { type: 'function_call', call_id: 'c0', name: 'list', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c0', output: 'nothing' },
    ],
    tools: ['list', 'read'].map((name) => ({ type: 'function', name, parameters, strict: false })),
    text: { format: { type: 'json_schema', name: 'ends', schema } },
    max_output_tokens: 500,
  },
  post: postResponses,
  fold: (text) =>
    eventsOf(text).findLast(({ type }) => type === 'response.completed' || type === 'response.incomplete')?.response,
  read: (answer) => {
    const items: Json[] = answer.output
    const contents = items.flatMap(({ type, content = [] }) => (type === 'message' ? content : []))
    const thoughts = items.filter(({ type }) => type === 'reasoning')
    const calls = items.filter(({ type }) => type === 'function_call')
    return {
      thought: thoughts
        .flatMap(({ summary, content = [] }) => [...summary, ...content].map(({ text }) => text))
        .join(''),
      text: contents.map(({ text }) => text).join(''),
      sources: contents.flatMap(({ annotations }) => annotations.map(({ url }: Json) => url)),
      calls: calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })),
      stop: answer.incomplete_details?.reason ?? answer.status,
      inputTokens: answer.usage.input_tokens,
      outputTokens: answer.usage.output_tokens,
      leftOut: leftOut(answer),
    }
  },
  prompt: (input) => ({ input, tools: responses.request.tools }),
  next: (request, { output }) => ({
    ...request,
    input: [
      ...request.input,
      ...output,
      ...output
        .filter(({ type }: Json) => type === 'function_call')
        .map(({ call_id }: Json) => ({ type: 'function_call_output', call_id, output: 'ok' })),
    ],
  }),
}

const chat: Dialect = {
  name: 'chat',
  reasons: { tools: 'tool_calls', stop: 'stop', length: 'length', filter: 'content_filter' },
  stops: true,
  request: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c0', type: 'function', function: { name: 'list', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c0', content: 'nothing' },
    ],
    tools: ['list', 'read'].map((name) => ({ type: 'function', function: { name, parameters } })),
    response_format: { type: 'json_schema', json_schema: { name: 'ends', schema } },
    stop: ['END'],
    max_tokens: 500,
  },
  post: postChat,
  fold: (text) => {
    const chunks = chunksOf(text)
    const finish = chunks.findLast(({ choices }) => choices[0]?.finish_reason)?.choices[0].finish_reason
    const choices = [{ message: foldChunks(chunks), finish_reason: finish }]
    return { ...chunks.at(-1), choices }
  },
  read: (answer) => {
    const [{ message, finish_reason: finish }] = answer.choices
    return {
      thought: message.reasoning ?? '',
      text: message.content ?? '',
      sources: (message.annotations ?? []).map(({ url_citation: { url } }: Json) => url),
      calls: (message.tool_calls ?? []).map(({ function: called }: Json) => {
        return { name: called.name, arguments: JSON.parse(called.arguments) }
      }),
      stop: finish,
      inputTokens: answer.usage.prompt_tokens,
      outputTokens: answer.usage.completion_tokens,
      leftOut: leftOut(answer),
    }
  },
  prompt: (content) => ({ messages: [{ role: 'user', content }], tools: chat.request.tools }),
  next: (request, { choices: [{ message }] }) => ({
    ...request,
    messages: [
      ...request.messages,
      message,
      ...message.tool_calls.map(({ id }: Json) => ({ role: 'tool', tool_call_id: id, content: 'ok' })),
    ],
  }),
}

const messages: Dialect = {
  name: 'messages',
  reasons: { tools: 'tool_use', stop: 'end_turn', length: 'max_tokens', filter: 'refusal' },
  stops: true,
  request: {
    system: 'Be brief.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF }, title: 'a.pdf' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c0', name: 'list', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c0', content: 'nothing' }] },
    ],
    tools: ['list', 'read'].map((name) => ({ name, input_schema: parameters })),
    output_config: { format: { type: 'json_schema', schema } },
    stop_sequences: ['END'],
    max_tokens: 500,
  },
  post: (portico, body, headers) => postMessages(portico, body, headers),
  fold: (text) => messageOf(messageEvents(text)),
  read: (answer) => {
    const blocks: Json[] = answer.content
    const uses = blocks.filter(({ type }) => type === 'tool_use')
    const { input_tokens: fresh, cache_read_input_tokens: cached, output_tokens: outputTokens } = answer.usage
    return {
      thought: blocks.map(({ thinking = '' }) => thinking).join(''),
      text: blocks.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
      sources: blocks.flatMap(({ citations }) => (citations ?? []).map(({ url }: Json) => url)),
      calls: uses.map(({ name, input }) => ({ name, arguments: input })),
      stop: answer.stop_reason,
      inputTokens: fresh + cached,
      outputTokens,
      leftOut: leftOut(answer),
    }
  },
  prompt: (content) => ({
    messages: [{ role: 'user', content }],
    tools: messages.request.tools,
    max_tokens: 500,
  }),
  next: (request, { content }) => ({
    ...request,
    messages: [
      ...request.messages,
      { role: 'assistant', content },
      {
        role: 'user',
        content: content
          .filter(({ type }: Json) => type === 'tool_use')
          .map(({ id }: Json) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })),
      },
    ],
  }),
}

export const DIALECTS = [responses, chat, messages] as const
