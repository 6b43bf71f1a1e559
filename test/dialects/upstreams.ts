import type { Json } from '#test/support/responses.ts'

/** What every scripted provider says, each in its own wire form: a thought, a text that rests on a source, two calls at once. */
export const SAID = {
  thought: 'Let me see.',
  text: 'Leases end.',
  source: 'https://example.com/lease',
  calls: [
    { id: 'call_A', name: 'list', arguments: '{"path":"."}' },
    { id: 'call_B', name: 'read', arguments: '{"path":"a.md"}' },
  ],
  /** Cached ones included. */
  inputTokens: 20,
  outputTokens: 9,
} as const

/** What a provider was sent, as far as the table looks. */
export interface Reached {
  readonly system: boolean
  readonly images: number
  readonly files: number
  readonly results: readonly string[]
  readonly tools: readonly string[]
  readonly schema: boolean
  readonly stop: readonly string[]
  readonly maxTokens: unknown
}

/** A scripted provider: what it answers, and what it understood. */
export interface Upstream {
  readonly protocol: 'openai' | 'openai-responses' | 'anthropic'
  /** The path that it is asked at. */
  readonly path: string
  /** What proves its thought; it has to come back to it, and to nobody else. */
  readonly proof: string | undefined
  readonly whole: Json
  readonly events: readonly (Json | string)[]
  reached(body: Json): Reached
  /** An answer that ends before its time, whole. */
  ended(why: Ending): Json
  /** The same as a stream. */
  ending(why: Ending): readonly (Json | string)[]
}

/** Why an answer ends before its time. */
export type Ending = 'length' | 'filter'

const [list, read] = SAID.calls

function countOf(value: unknown, pattern: RegExp): number {
  return [...JSON.stringify(value).matchAll(pattern)].length
}

const chatUsage = {
  prompt_tokens: 20,
  completion_tokens: 9,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 8 },
}
const chatSource = {
  type: 'url_citation',
  url_citation: { url: SAID.source, title: 'Leases', start_index: 0, end_index: 6 },
}
const chatCall = ({ id, name }: { id: string; name: string }, index: number, text: string) => {
  return { index, id, type: 'function', function: { name, arguments: text } }
}
const chatChunk = (delta: Json, more: Json = {}, finish: string | null = null): Json => {
  return { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more }
}

const chatEndings = { length: 'length', filter: 'content_filter' }

const chat: Upstream = {
  protocol: 'openai',
  path: '/v1/chat/completions',
  proof: undefined,
  whole: {
    id: 'c',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: SAID.text,
          reasoning_content: SAID.thought,
          annotations: [chatSource],
          tool_calls: SAID.calls.map((call, i) => chatCall(call, i, call.arguments)),
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: chatUsage,
  },
  events: [
    chatChunk({ role: 'assistant', reasoning_content: 'Let me ' }),
    chatChunk({ reasoning_content: 'see.' }),
    chatChunk({ content: 'Leases ' }),
    chatChunk({ content: 'end.' }),
    chatChunk({ annotations: [chatSource] }),
    chatChunk({ tool_calls: [chatCall(list, 0, '')] }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: '{"path"' } }] }),
    chatChunk({ tool_calls: [chatCall(read, 1, '{"path":')] }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: ':"."}' } }] }),
    chatChunk({ tool_calls: [{ index: 1, function: { arguments: '"a.md"}' } }] }),
    chatChunk({}, {}, 'tool_calls'),
    { id: 'c', choices: [], usage: chatUsage },
    '[DONE]',
  ],
  reached: ({ messages, tools, response_format: format, stop = [], max_tokens: maxTokens }) => ({
    system: messages[0].role === 'system' && JSON.stringify(messages[0]).includes('Be brief.'),
    images: countOf(messages, /"type":"image_url"/g),
    files: countOf(messages, /"type":"file"/g),
    results: messages.filter(({ role }: Json) => role === 'tool').map(({ content }: Json) => content),
    tools: tools.map(({ function: { name } }: Json) => name),
    schema: format?.json_schema?.schema?.required?.[0] === 'end',
    stop,
    maxTokens,
  }),
  ended: (why) => ({
    choices: [{ message: { role: 'assistant', content: 'Lea' }, finish_reason: chatEndings[why] }],
    usage: chatUsage,
  }),
  ending: (why) => [
    chatChunk({ content: 'Lea' }),
    chatChunk({}, {}, chatEndings[why]),
    { choices: [], usage: chatUsage },
    '[DONE]',
  ],
}

const responsesUsage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 9,
  total_tokens: 29,
  output_tokens_details: { reasoning_tokens: 2 },
}
const responsesSource = { type: 'url_citation', url: SAID.source, title: 'Leases', start_index: 0, end_index: 6 }
const thought = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: SAID.thought }],
  encrypted_content: 'PROOF-OF-OPENAI',
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: SAID.text, annotations: [responsesSource], logprobs: [] }],
}
const itemOf = ({ id, name, arguments: text }: { id: string; name: string; arguments: string }) => {
  return { id: `fc_${id}`, type: 'function_call', call_id: id, name, arguments: text, status: 'completed' }
}
const output = [thought, message, itemOf(list), itemOf(read)]
const response = (more: Json): Json => ({
  id: 'resp_1',
  object: 'response',
  model: 'm',
  service_tier: 'default',
  ...more,
})
const added = (index: number, item: Json): Json => ({ type: 'response.output_item.added', output_index: index, item })
const done = (index: number): Json => ({
  type: 'response.output_item.done',
  output_index: index,
  item: output[index] as Json,
})
const more = (index: number, delta: string): Json => {
  return { type: 'response.function_call_arguments.delta', output_index: index, item_id: 'fc', delta }
}
const completed = response({ status: 'completed', output, usage: responsesUsage })

const incomplete = (why: Ending): Json =>
  response({
    status: 'incomplete',
    incomplete_details: { reason: why === 'length' ? 'max_output_tokens' : 'content_filter' },
    output: [{ ...message, status: 'incomplete', content: [{ type: 'output_text', text: 'Lea', annotations: [] }] }],
    usage: responsesUsage,
  })

const responses: Upstream = {
  protocol: 'openai-responses',
  path: '/v1/responses',
  proof: 'PROOF-OF-OPENAI',
  whole: completed,
  events: [
    { type: 'response.created', response: response({ status: 'in_progress', output: [] }) },
    added(0, { ...thought, summary: [], encrypted_content: 'HALF' }),
    { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index: 0, part: {} },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Let me ' },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'see.' },
    done(0),
    added(1, { ...message, status: 'in_progress', content: [] }),
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Leases ' },
    { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'end.' },
    {
      type: 'response.output_text.annotation.added',
      output_index: 1,
      content_index: 0,
      annotation: responsesSource,
    },
    done(1),
    added(2, { ...itemOf(list), arguments: '', status: 'in_progress' }),
    more(2, '{"path"'),
    added(3, { ...itemOf(read), arguments: '', status: 'in_progress' }),
    more(3, '{"path":'),
    more(2, ':"."}'),
    done(2),
    more(3, '"a.md"}'),
    done(3),
    { type: 'response.completed', response: completed },
  ],
  reached: ({ instructions, input, tools, text, max_output_tokens: maxTokens }) => ({
    system: instructions === 'Be brief.',
    images: countOf(input, /"type":"input_image"/g),
    files: countOf(input, /"type":"input_file"/g),
    results: input.filter(({ type }: Json) => type === 'function_call_output').map(({ output }: Json) => output),
    tools: tools.map(({ name }: Json) => name),
    schema: text?.format?.schema?.required?.[0] === 'end',
    stop: [],
    maxTokens,
  }),
  ended: incomplete,
  ending: (why) => [
    { type: 'response.created', response: response({ status: 'in_progress', output: [] }) },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Lea' },
    { type: 'response.incomplete', response: incomplete(why) },
  ],
}

const cited = {
  type: 'web_search_result_location',
  url: SAID.source,
  title: 'Leases',
  encrypted_index: 'E',
  cited_text: 'A lease is a right for a time.',
}
const use = ({ id, name }: { id: string; name: string }, input: Json): Json => ({ type: 'tool_use', id, name, input })
const block = (index: number, content_block: Json): Json => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, delta: Json): Json => ({ type: 'content_block_delta', index, delta })
const stop = (index: number): Json => ({ type: 'content_block_stop', index })
const input = (index: number, partial_json: string): Json => delta(index, { type: 'input_json_delta', partial_json })
const usage = { input_tokens: 12, cache_read_input_tokens: 8, cache_creation_input_tokens: 0, output_tokens: 9 }

const anthropicEndings = { length: 'max_tokens', filter: 'refusal' }

const anthropic: Upstream = {
  protocol: 'anthropic',
  path: '/v1/messages',
  proof: 'PROOF-OF-ANTHROPIC',
  whole: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'tool_use',
    usage,
    content: [
      { type: 'thinking', thinking: SAID.thought, signature: 'PROOF-OF-ANTHROPIC' },
      { type: 'text', text: SAID.text, citations: [cited] },
      ...SAID.calls.map((call) => use(call, JSON.parse(call.arguments))),
    ],
  },
  events: [
    { type: 'message_start', message: { id: 'msg_1', usage: { ...usage, output_tokens: 1 } } },
    block(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
    delta(0, { type: 'thinking_delta', thinking: 'see.' }),
    delta(0, { type: 'signature_delta', signature: 'PROOF-OF-ANTHROPIC' }),
    stop(0),
    block(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'Leases ' }),
    delta(1, { type: 'text_delta', text: 'end.' }),
    delta(1, { type: 'citations_delta', citation: cited }),
    stop(1),
    block(2, use(list, {})),
    input(2, '{"path"'),
    input(2, ':"."}'),
    stop(2),
    block(3, use(read, {})),
    input(3, '{"path":"a.md"}'),
    stop(3),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ],
  reached: ({ system, messages, tools, output_config: config, stop_sequences: stop = [], max_tokens: maxTokens }) => ({
    system: JSON.stringify(system).includes('Be brief.'),
    images: countOf(messages, /"type":"image"/g),
    files: countOf(messages, /"type":"document"/g),
    results: messages
      .flatMap(({ content }: Json) => content)
      .filter(({ type }: Json) => type === 'tool_result')
      .map(({ content }: Json) => (typeof content === 'string' ? content : content[0].text)),
    tools: tools.map(({ name }: Json) => name),
    schema: config?.format?.schema?.required?.[0] === 'end',
    stop,
    maxTokens,
  }),
  ended: (why) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    stop_reason: anthropicEndings[why],
    usage,
    content: [{ type: 'text', text: 'Lea' }],
  }),
  ending: (why) => [
    { type: 'message_start', message: { id: 'msg_1', usage } },
    block(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'Lea' }),
    stop(0),
    { type: 'message_delta', delta: { stop_reason: anthropicEndings[why] }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ],
}

export const UPSTREAMS = [chat, responses, anthropic] as const
