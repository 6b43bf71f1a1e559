import type { Json } from '#test/support/responses.ts'
import { countOf, SAID, type Upstream } from './upstream.ts'

const [list, read] = SAID.calls

const usage = {
  prompt_tokens: 20,
  completion_tokens: 9,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 8 },
}
const source = {
  type: 'url_citation',
  url_citation: { url: SAID.source, title: 'Leases', start_index: 0, end_index: 6 },
}
const callOf = ({ id, name }: { id: string; name: string }, index: number, text: string) => {
  return { index, id, type: 'function', function: { name, arguments: text } }
}
const chunk = (delta: Json, more: Json = {}, finish: string | null = null): Json => {
  return { id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }], ...more }
}

const ENDINGS = { length: 'length', filter: 'content_filter' }

/** Chat completions. */
export const openai: Upstream = {
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
          annotations: [source],
          tool_calls: SAID.calls.map((call, i) => callOf(call, i, call.arguments)),
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage,
  },
  events: [
    chunk({ role: 'assistant', reasoning_content: 'Let me ' }),
    chunk({ reasoning_content: 'see.' }),
    chunk({ content: 'Leases ' }),
    chunk({ content: 'end.' }),
    chunk({ annotations: [source] }),
    chunk({ tool_calls: [callOf(list, 0, '')] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"path"' } }] }),
    chunk({ tool_calls: [callOf(read, 1, '{"path":')] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: ':"."}' } }] }),
    chunk({ tool_calls: [{ index: 1, function: { arguments: '"a.md"}' } }] }),
    chunk({}, {}, 'tool_calls'),
    { id: 'c', choices: [], usage },
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
    choices: [{ message: { role: 'assistant', content: 'Lea' }, finish_reason: ENDINGS[why] }],
    usage,
  }),
  ending: (why) => [chunk({ content: 'Lea' }), chunk({}, {}, ENDINGS[why]), { choices: [], usage }, '[DONE]'],
}
