import type { Json } from '#test/support/responses.ts'
import { countOf, type Ending, SAID, type Upstream } from './upstream.ts'

const [list, read] = SAID.calls

const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 9,
  total_tokens: 29,
  output_tokens_details: { reasoning_tokens: 2 },
}
const source = { type: 'url_citation', url: SAID.source, title: 'Leases', start_index: 0, end_index: 6 }
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
  content: [{ type: 'output_text', text: SAID.text, annotations: [source], logprobs: [] }],
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
const completed = response({ status: 'completed', output, usage })

const incomplete = (why: Ending): Json =>
  response({
    status: 'incomplete',
    incomplete_details: { reason: why === 'length' ? 'max_output_tokens' : 'content_filter' },
    output: [{ ...message, status: 'incomplete', content: [{ type: 'output_text', text: 'Lea', annotations: [] }] }],
    usage,
  })

/** The Responses API. */
export const openaiResponses: Upstream = {
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
      annotation: source,
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
