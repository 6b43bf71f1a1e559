import assert from 'node:assert/strict'
import test from 'node:test'
import { post } from '#test/support/messages.ts'
import { openPortico } from '#test/support/portico.ts'
import { create } from '#test/support/presets.ts'
import type { Json } from '#test/support/responses.ts'

const base = { model: 'portico/echo', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] }
const said = (content: unknown): Json => ({ messages: [{ role: 'user', content }] })
const saidIn = (content: unknown): Json => said([{ type: 'tool_result', tool_use_id: 'a', content }])
const marked = { cache_control: { type: 'ephemeral' } }
const tool = { name: 'look', input_schema: {}, ...marked }
const text = { type: 'text', text: 'x', ...marked }
const TOO_MANY = 'cache_control: is one too many: tools, system and messages must have at most 4 together'
const three = ['a/1', 'a/2', 'a/3'].map((model) => ({ model }))

/** Settings, which a preset keeps as well: what is wrong with them. */
const SETTINGS: readonly (readonly [Json, string])[] = [
  [{ max_tokens: 0 }, 'max_tokens: must be at least 1'],
  [{ temperature: 2.1 }, 'temperature: must be at most 2'],
  [{ top_p: 1.1 }, 'top_p: must be at most 1'],
  [{ system: 7 }, 'system: must be a string or an array of blocks'],
  [{ cache_control: { type: 'forever' } }, 'cache_control.type: must be "ephemeral"'],
  [{ cache_control: { type: 'ephemeral', ttl: '2h' } }, 'cache_control.ttl: must be "5m" or "1h"'],
  [{ tools: [tool, tool, tool], system: [text, text] }, `system.1.${TOO_MANY}`],
  [{ tools: [tool, { ...tool, type: 'bash_20250124' }, tool, tool, tool] }, `tools.4.${TOO_MANY}`],
  [{ fallbacks: [...three, { model: 'a/4' }] }, 'fallbacks: must have at most 3 items'],
  [{ fallbacks: [{ model: 'a/1', max_tokens: 1 }] }, 'fallbacks.0: has the unknown member "max_tokens"'],
  [{ fallbacks: three, models: ['a/1'] }, 'fallbacks: must not be given together with models'],
  [{ output_config: { effort: 'none' } }, 'output_config.effort: must be "low", "medium", "high", "xhigh" or "max"'],
  [{ output_config: { format: { type: 'json_object' } } }, 'output_config.format.type: must be "json_schema"'],
  [
    { output_config: { task_budget: { type: 'tokens', total: 19_999 } } },
    'output_config.task_budget.total: must be at least 20000',
  ],
  [{ speed: 'slow' }, 'speed: must be "fast" or "standard"'],
  [{ route: 'model' }, 'route: must be "fallback" or "sort"'],
  [{ stop_server_tools_when: [] }, 'stop_server_tools_when: must not be empty'],
  [
    { stop_server_tools_when: [{ type: 'has_tool_call', tool_name: '' }] },
    'stop_server_tools_when.0.tool_name: must not be empty',
  ],
  [
    { stop_server_tools_when: [{ type: 'finish_reason_is', reason: '' }] },
    'stop_server_tools_when.0.reason: must not be empty',
  ],
  [
    { tools: [{ type: 'openrouter:web_search' }] },
    'tools.0.type: the server tool "openrouter:web_search" is not available here',
  ],
  [{ tools: [{ type: 'custom', name: 'x' }] }, 'tools.0.input_schema: is required'],
]

/** What only a request has. */
const REQUESTS: readonly (readonly [Json, string])[] = [
  [{ messages: [] }, 'messages: must have content'],
  [said([text, text, text, text, text]), `messages.0.content.4.${TOO_MANY}`],
  [
    {
      tools: [tool],
      system: [text],
      ...said([text, { type: 'tool_result', tool_use_id: 'a', content: [text], ...marked }]),
    },
    `messages.0.content.1.${TOO_MANY}`,
  ],
  [said([null]), 'messages.0.content.0: must be an object'],
  [said([{ type: 'text' }]), 'messages.0.content.0.text: is required'],
  [said([{ type: 'image', source: { type: 'url' } }]), 'messages.0.content.0.source.url: is required'],
  [said([{ type: 'tool_result' }]), 'messages.0.content.0.tool_use_id: is required'],
  [saidIn([null]), 'messages.0.content.0.content.0: must be an object'],
  [saidIn([{ type: 7 }]), 'messages.0.content.0.content.0.type: must be "text", "image" or "document"'],
  [saidIn([text, { type: 'text', text: 1 }]), 'messages.0.content.0.content.1.text: must be a string'],
  [
    saidIn([{ type: 'tool_result', content: [null] }]),
    'messages.0.content.0.content.0.type: must be "text", "image" or "document"',
  ],
  [said(7), 'messages.0.content: must be a string or an array of blocks'],
  [{ stream: 'yes' }, 'stream: must be a boolean'],
  [{ user: 'x'.repeat(257) }, 'user: must have at most 256 characters'],
  [{ session_id: 'x'.repeat(257) }, 'session_id: must have at most 256 characters'],
  [{ metadata: { user_id: 'x'.repeat(257) } }, 'metadata.user_id: must have at most 256 characters'],
  [{ trace: { span_name: 1 } }, 'trace.span_name: must be a string'],
]

test('400 names a wrong member by its path, whole and streamed, also in a preset', async () => {
  await using portico = await openPortico()
  for (const [more, problem] of [...SETTINGS, ...REQUESTS]) {
    const message = `Invalid request parameters: ${problem}`
    const param = problem.split(':')[0]
    for (const stream of [false, true]) {
      const answer = await post(portico, { ...base, stream, ...more })
      const { request_id: id, ...body } = (await answer.json()) as Json
      const error = { type: 'invalid_request_error', message, error_type: 'invalid_request', param }
      assert.deepEqual([answer.status, body], [400, { type: 'error', error }])
      assert.equal(id, answer.headers.get('x-generation-id'))
    }
    if (!SETTINGS.some(([settings]) => settings === more)) continue
    const { status, json } = await create(portico, 'p', 'messages', { ...base, ...more })
    assert.deepEqual([status, json], [400, { error: { code: 400, message, param } }])
  }
})

test('four cache breakpoints beside one for the whole body, and members that are null, are accepted', async () => {
  await using portico = await openPortico()
  const unmarked = { ...text, cache_control: null }
  const body = { ...base, ...marked, tools: [tool], system: [text, unmarked], ...said([text, unmarked, text]) }
  assert.equal((await post(portico, body)).status, 200)
})
