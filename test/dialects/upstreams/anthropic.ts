import type { Json } from '#test/support/responses.ts'
import { countOf, SAID, type Upstream } from './upstream.ts'

const [list, read] = SAID.calls

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

const ENDINGS = { length: 'max_tokens', filter: 'refusal' }

/** The Messages API. */
export const anthropic: Upstream = {
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
    stop_reason: ENDINGS[why],
    usage,
    content: [{ type: 'text', text: 'Lea' }],
  }),
  ending: (why) => [
    { type: 'message_start', message: { id: 'msg_1', usage } },
    block(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'Lea' }),
    stop(0),
    { type: 'message_delta', delta: { stop_reason: ENDINGS[why] }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ],
}
