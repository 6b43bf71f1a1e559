import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { openPortico } from '#test/support/portico.ts'
import { create, send } from '#test/support/presets.ts'

const DIALECTS = ['messages', 'responses', 'chat/completions'] as const

/** Values that are valid for some setting, or nearly so. */
const value = fc.oneof(
  { depthSize: 'small' },
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(0, 1, -1, 0.5, 1e300, 2 ** 53, '', 'auto', 'portico/echo', '@preset/a', true, null, [], {}),
  fc.constantFrom<unknown>(
    { type: 'function', function: { name: 'f', parameters: { type: 'object' } } },
    { type: 'function', name: 'f' },
    [{ name: 'f', input_schema: {} }],
    [{ type: 'function', name: 'f', parameters: null }],
    [{ type: 'web_search' }],
    [{ type: 'openrouter:datetime' }],
    { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
    { format: { type: 'json_schema', name: 'x', schema: {} } },
    { type: 'enabled', budget_tokens: 2_000 },
    { effort: 'high' },
    [{ role: 'system', content: 'Hi' }],
    { order: ['a'], max_price: { prompt: '0.1' } },
    [{ id: 'web' }],
    [{ type: 'max_cost', max_cost_in_dollars: 1 }],
  ),
)
const name = fc.constantFrom(
  ...[
    'model',
    'models',
    'fallbacks',
    'max_tokens',
    'max_output_tokens',
    'temperature',
    'top_p',
    'top_k',
    'seed',
    'stop',
  ],
  ...['stop_sequences', 'logit_bias', 'tools', 'tool_choice', 'reasoning', 'reasoning_effort', 'thinking', 'text'],
  ...['output_config', 'response_format', 'provider', 'plugins', 'route', 'speed', 'service_tier', 'cache_control'],
  ...[
    'stop_server_tools_when',
    'max_tool_calls',
    'system',
    'instructions',
    'messages',
    'input',
    'stream',
    'user',
    'trace',
  ],
  ...[
    'session_id',
    'metadata',
    'preset',
    'include',
    'prompt',
    'modalities',
    'prediction',
    'context_management',
    '__proto__',
  ],
)
const body = fc.oneof(
  { weight: 9, arbitrary: fc.dictionary(name, value, { noNullPrototype: true, maxKeys: 4 }) },
  { weight: 1, arbitrary: fc.jsonValue() },
)

test('any body of a preset is refused, or creates a preset that can be read and used', async () => {
  await using portico = await openPortico()
  let made = 0
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...DIALECTS), body, async (dialect, given) => {
      const { status, json } = await create(portico, 'any', dialect, JSON.stringify(given))
      assert.ok(status === 200 || status === 400, `${status} for ${JSON.stringify(given)}: ${JSON.stringify(json)}`)
      if (status !== 200) return
      made++
      assert.deepEqual((await send(portico, '/presets/any')).json, json)
      const { error } = (await send(portico, '/responses', { model: 'portico/echo@preset/any', input: '/length 1' }))
        .json
      // It may demand what is not available, such as a tool; that is not the server's fault.
      assert.ok(error == null || error.code < 500, `${JSON.stringify(given)}: ${JSON.stringify(error)}`)
    }),
    { numRuns: 150 },
  )
  assert.ok(made > 20, String(made))
})
