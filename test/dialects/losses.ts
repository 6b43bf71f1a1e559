import type { Json } from '#test/support/responses.ts'
import type { Dialect } from './dialects.ts'
import type { Upstream } from './upstreams/upstream.ts'

type Of<T> = Readonly<Record<Upstream['protocol'], T>>

/** Something in a request that not every provider takes. */
interface Loss {
  readonly what: string
  /** The request with it. */
  add(request: Json): Json
  /** What is named as left out, by provider; others take it. */
  readonly names: Partial<Of<readonly string[]>>
  /** How it arrives nevertheless; undefined: it does not where it is named. */
  readonly reaches?: Of<RegExp>
}

const everywhere = (...names: string[]) => ({ openai: names, 'openai-responses': names, anthropic: names })
const BROKEN = '{"path'
/** As JSON within JSON; Anthropic takes only objects. */
const SENT = String.raw`\{\\"path"`
const broken = {
  openai: new RegExp(`"arguments":"${SENT}`),
  'openai-responses': new RegExp(`"arguments":"${SENT}`),
  anthropic: new RegExp(`"input":\\{"INVALID_JSON":"${SENT}`),
}
/** Members of the part at a place of the first message of the user. */
const withDetail = (request: Json, list: string, at: number, change: (part: Json) => Json): Json => ({
  ...request,
  [list]: request[list].map((message: Json) =>
    message.role === 'user' && Array.isArray(message.content) && message.content[1]?.type !== 'tool_result'
      ? { ...message, content: message.content.map((part: Json, i: number) => (i === at ? change(part) : part)) }
      : message,
  ),
})
const after = (list: string, ...more: Json[]) => {
  return (request: Json): Json => ({ ...request, [list]: [...request[list], ...more] })
}

const responses: readonly Loss[] = [
  {
    what: 'how closely a picture is looked at',
    add: (request) => withDetail(request, 'input', 1, (part) => ({ ...part, detail: 'high' })),
    names: { anthropic: ['input.0.content.1.detail'] },
  },
  {
    what: 'a blank text',
    add: after('input', { role: 'user', content: ' ' }),
    names: { anthropic: ['input.3.content'] },
  },
  {
    what: 'sources and phase of what the model said',
    add: after('input', {
      type: 'message',
      role: 'assistant',
      id: 'm',
      status: 'completed',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'It ends', annotations: [{ type: 'url_citation', url: 'https://a.b' }] }],
    }),
    names: {
      openai: ['input.3.phase', 'input.3.content.0.annotations'],
      'openai-responses': ['input.3.content.0.annotations'],
      anthropic: ['input.3.content.0.annotations', 'input.3.phase'],
    },
  },
  {
    what: 'broken arguments',
    add: after(
      'input',
      { type: 'function_call', call_id: 'c9', name: 'list', arguments: BROKEN },
      { type: 'function_call_output', call_id: 'c9', output: 'no' },
    ),
    names: {},
    reaches: broken,
  },
  {
    what: 'custom and deferred tools',
    add: after(
      'tools',
      { type: 'function', name: 'later', parameters: {}, defer_loading: true },
      { type: 'custom', name: 'patch' },
    ),
    names: { openai: ['tools.3', 'tools.2.defer_loading'], anthropic: ['tools'] },
  },
  {
    what: 'settings of pictures that nobody wants',
    add: (request) => ({ ...request, image_config: { aspect_ratio: '1:1' } }),
    names: everywhere('image_config'),
  },
]

const chat: readonly Loss[] = [
  {
    what: 'how closely a picture is looked at',
    add: (request) =>
      withDetail(request, 'messages', 1, ({ image_url: image, ...part }) => ({
        ...part,
        image_url: { ...image, detail: 'low' },
      })),
    names: { anthropic: ['messages.1.content.1.image_url.detail'] },
  },
  {
    what: 'a blank text',
    add: after('messages', { role: 'user', content: ' ' }),
    names: { anthropic: ['messages.4.content'] },
  },
  {
    what: 'sources and sound of what the model said',
    add: after('messages', {
      role: 'assistant',
      content: 'It ends',
      audio: { id: 'a' },
      annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.b', title: 'A' } }],
    }),
    names: everywhere('messages.4.audio', 'messages.4.annotations'),
  },
  {
    what: 'broken arguments',
    add: after(
      'messages',
      {
        role: 'assistant',
        tool_calls: [{ id: 'c9', type: 'function', function: { name: 'list', arguments: BROKEN } }],
      },
      { role: 'tool', tool_call_id: 'c9', content: 'no' },
    ),
    names: {},
    reaches: broken,
  },
  {
    what: 'a custom tool',
    add: after('tools', { type: 'custom', custom: { name: 'patch' } }),
    names: { openai: ['tools.2.custom'] },
  },
  {
    what: 'settings of pictures that nobody wants',
    add: (request) => ({ ...request, image_config: { aspect_ratio: '1:1' } }),
    names: everywhere('image_config'),
  },
]

const use = { type: 'tool_use', id: 'c9', name: 'list' }
const result = { type: 'tool_result', tool_use_id: 'c9', content: 'no' }

const messages: readonly Loss[] = [
  {
    what: 'that a call failed',
    add: after(
      'messages',
      { role: 'assistant', content: [{ ...use, input: {} }] },
      { role: 'user', content: [{ ...result, is_error: true }] },
    ),
    names: { openai: ['messages.4.content.0.is_error'], 'openai-responses': ['messages.4.content.0.is_error'] },
  },
  {
    what: 'a blank text',
    add: after('messages', { role: 'user', content: [{ type: 'text', text: ' ' }] }),
    names: { anthropic: ['messages.3.content.0'] },
  },
  {
    what: 'sources of what another provider said',
    add: after('messages', {
      role: 'assistant',
      content: [
        {
          type: 'text',
          text: 'It ends',
          citations: [{ type: 'web_search_result_location', url: 'https://a.b', cited_text: '', encrypted_index: '' }],
        },
      ],
    }),
    names: everywhere('messages.3.content.0.citations'),
  },
  {
    what: 'broken arguments',
    add: after(
      'messages',
      { role: 'assistant', content: [{ ...use, input: { INVALID_JSON: BROKEN } }] },
      { role: 'user', content: [result] },
    ),
    names: {},
    reaches: broken,
  },
  {
    what: 'a deferred tool',
    add: after('tools', { name: 'later', input_schema: { type: 'object' }, defer_loading: true }),
    names: { openai: ['tools.2.defer_loading'], anthropic: ['tools'] },
  },
]

/** By the name of the dialect. */
export const LOSSES: Readonly<Record<Dialect['name'], readonly Loss[]>> = { responses, chat, messages }
