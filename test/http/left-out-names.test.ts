import assert from 'node:assert/strict'
import test from 'node:test'
import { DIALECTS } from '#test/support/client.ts'
import { ask, notApplied } from '#test/support/not-applied.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { created, send } from '#test/support/presets.ts'
import { chatConfig, providerConfig } from '#test/support/provider-config.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'

/** What the ledger says was not applied. */
async function inLedger(portico: Portico, id: string): Promise<string[]> {
  const { json } = await send(portico, `/generation?id=${id}`)
  return json.data.not_applied
}

/** What OpenAI has no place for, in each dialect: a thought of Anthropic's, a hosted tool, a setting. */
const FOREIGN: Readonly<Record<string, { body: object; names: string[]; rows: string[] }>> = {
  responses: {
    body: {
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', summary: [], encrypted_content: 'proof', format: 'anthropic-claude-v1' },
        { role: 'user', content: 'Go on' },
      ],
      tools: [
        { type: 'function', name: 'own', parameters: {} },
        { type: 'web_search_preview' },
        { type: 'function', name: 'other', parameters: {} },
      ],
      truncation: 'auto',
    },
    names: ['input', 'input.1', 'tools.1', 'truncation'],
    rows: ['input', 'tools', 'truncation'],
  },
  'chat/completions': {
    body: {
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: 'Hello',
          reasoning_details: [
            { type: 'reasoning.text', text: 'Well', signature: 'proof', format: 'anthropic-claude-v1' },
          ],
        },
        { role: 'user', content: 'Go on' },
      ],
      tools: [
        { type: 'function', function: { name: 'own', parameters: {} } },
        { type: 'web_search_preview' },
        { type: 'function', function: { name: 'other', parameters: {} } },
      ],
      max_tool_calls: 2,
    },
    names: ['max_tool_calls', 'messages', 'messages.1.reasoning_details.0', 'tools.1'],
    rows: ['max_tool_calls', 'messages', 'tools'],
  },
  messages: {
    body: {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'Well', signature: 'proof' }] },
        { role: 'user', content: 'Go on' },
      ],
      tools: [
        { name: 'own', input_schema: { type: 'object' } },
        { type: 'bash_20250124', name: 'bash' },
        { name: 'other', input_schema: { type: 'object' } },
      ],
      context_management: { edits: [] },
    },
    names: ['context_management', 'messages', 'messages.1.content.0', 'tools.1'],
    rows: ['context_management', 'messages', 'tools'],
  },
}

test('content that is left out is named by its path in the body, also after a preset added messages and tools', async () => {
  await using stub = await startStub(answers(200, fixture('openai-text.json')))
  await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) })
  await created(portico, 'p', 'responses', {
    instructions: 'Be brief.',
    tools: [{ type: 'function', name: 'kept', parameters: {} }, { type: 'web_search' }],
  })
  for (const [dialect, { body, names, rows }] of Object.entries(FOREIGN)) {
    for (const [model, more] of [
      ['openai/gpt-5.5', []],
      ['openai/gpt-5.5@preset/p', ['preset.tools']],
    ] as const) {
      const { json, id } = await ask(portico, dialect, { model, ...body })
      assert.deepEqual(notApplied(json).toSorted(), [...names, ...more].toSorted(), `${dialect} ${model}`)
      assert.deepEqual((await inLedger(portico, id)).toSorted(), [...rows, ...more].toSorted(), `${dialect} ${model}`)
    }
  }
})

test('settings that are left out have the names that the dialect has for them', async () => {
  await using stub = await startStub(streams(fixture('anthropic-sources.sse')))
  const models = [{ id: 'claude-sonnet-5-5' }]
  const at = { baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', stream: 'always' }
  const claude = { id: 'claude', protocol: 'anthropic', models, ...at }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([claude]) })
  const cases: [dialect: string, body: object, ...names: string[]][] = [
    ['chat/completions', { logprobs: true }, 'logprobs'],
    ['chat/completions', { logprobs: true, top_logprobs: 2 }, 'top_logprobs'],
    ['chat/completions', { response_format: { type: 'python' } }, 'response_format.type'],
    ['chat/completions', { messages: undefined, prompt: 'Hi', verbosity: 'low' }, 'verbosity'],
    ['responses', { text: { verbosity: 'low', format: { type: 'json_object' } } }, 'text.verbosity', 'text.format'],
    ['responses', { include: ['message.output_text.logprobs'] }, 'include'],
    ['responses', { top_logprobs: 2 }, 'top_logprobs'],
  ]
  for (const [dialect, body, ...names] of cases) {
    const { json, id } = await ask(portico, dialect, { model: 'claude/claude-sonnet-5-5', ...body })
    assert.deepEqual(notApplied(json), names, JSON.stringify(body))
    const rows = names.map(
      (name) => ({ top_logprobs: dialect === 'responses' ? name : 'logprobs', include: 'top_logprobs' })[name] ?? name,
    )
    assert.deepEqual(await inLedger(portico, id), rows, JSON.stringify(body))
  }
})

test('the first 64 of many tools that are left out are named', async () => {
  await using openai = await startStub(answers(200, fixture('openai-text.json')))
  await using anthropic = await startStub(streams(fixture('anthropic-sources.sse')))
  const claude = { id: 'claude', protocol: 'anthropic', models: [{ id: 'claude-sonnet-5-5' }], stream: 'always' }
  await using portico = await openPortico({
    PORTICO_CONFIG: providerConfig([
      { id: 'gpt', protocol: 'openai', models: [{ id: 'gpt-5.5' }], baseURL: `${openai.url}/v1`, apiKey: 'k' },
      { ...claude, baseURL: `${anthropic.url}/v1`, apiKey: 'k' },
    ]),
  })
  const named = Array.from({ length: 70 }, (_, i) => `t${i}`)
  const deferred = { input_schema: { type: 'object' }, defer_loading: true }
  const allowed = named.toReversed().map((name) => ({ type: 'function', name }))
  const choice = { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed } }
  const tools = named.map((name) => ({ type: 'function', name, parameters: {}, defer_loading: true }))
  const hosted = named.map(() => ({ type: 'web_search' }))
  const cases: [dialect: string, model: string, body: object, at: (index: number) => string][] = [
    ['responses', 'gpt/gpt-5.5', { tools, ...choice }, (i) => `tools.${i}.defer_loading`],
    ['responses', 'gpt/gpt-5.5', { tools: hosted }, (i) => `tools.${i}`],
    [
      'messages',
      'gpt/gpt-5.5',
      { tools: named.map((name) => ({ name, ...deferred })) },
      (i) => `tools.${i}.defer_loading`,
    ],
    ['messages', 'gpt/gpt-5.5', { tools: named.map((name) => ({ type: 'bash_20250124', name })) }, (i) => `tools.${i}`],
    ['chat/completions', 'claude/claude-sonnet-5-5', { tools: hosted }, (i) => `tools.${i}`],
  ]
  for (const [dialect, model, body, at] of cases) {
    const { json } = await ask(portico, dialect, { model, ...body })
    const first = named.slice(0, 64).map((_, i) => at(i))
    assert.deepEqual(notApplied(json), first, `${dialect} ${JSON.stringify(body).slice(0, 60)}`)
  }
})

const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'm4a' } }
const films = {
  chat: { type: 'video_url', video_url: { url: 'https://a.test/b.mp4' } },
  responses: { type: 'input_video', video_url: 'https://a.test/b.mp4' },
}

test('sound, films and pictures that a provider does not take are named by their path, also in results of tools', async () => {
  await using chat = await startStub(answers(200, fixture('openai-text.json')))
  await using responses = await startStub(answers(200, fixture('responses-text.json')))
  const shared = { apiKey: 'k', models: [{ id: 'gpt-5.5' }] }
  await using portico = await openPortico({
    PORTICO_CONFIG: providerConfig([
      { id: 'openai', protocol: 'openai', baseURL: `${chat.url}/v1`, ...shared },
      { id: 'other', protocol: 'openai-responses', baseURL: `${responses.url}/v1`, ...shared },
    ]),
  })
  const called = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }, sound, films.chat] },
    {
      role: 'assistant',
      content: 'Well',
      images: [{ image_url: { url: 'https://a.test/b.png' } }],
      tool_calls: [called],
    },
    { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'Seen' }, films.chat] },
  ]
  const input = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Hi' }, films.responses] },
  ]
  const inMessages = ['messages.1.content.1.input_audio.data', 'messages.1.content.2.video_url.url']
  const inHistory = { openai: ['messages.2.images.0.image_url.url'], other: [] }
  for (const id of ['openai', 'other'] as const) {
    const model = `${id}/gpt-5.5`
    const said = await ask(portico, 'chat/completions', { model, messages })
    assert.deepEqual(notApplied(said.json), [...inMessages, ...inHistory[id], 'messages.3.content.1'], id)
    assert.deepEqual(await inLedger(portico, said.id), ['messages'], id)
    const { json } = await ask(portico, 'responses', { model, input })
    assert.deepEqual(notApplied(json), ['input.1.content.1'], id)
  }
  const sent = JSON.stringify(chat.seen.map(({ body }) => body))
  assert.doesNotMatch(sent, /returned:/, 'nothing of a result is announced that does not follow')

  const many = Array.from({ length: 70 }, () => sound)
  const content = [{ type: 'text', text: 'Hi' }, ...many]
  const more = { messages: [{ role: 'user', content }], stop: ['a', 'b', 'c', 'd', 'e'] }
  const { json } = await ask(portico, 'chat/completions', { model: 'openai/gpt-5.5', ...more })
  const first = many.slice(0, 64).map((_, i) => `messages.0.content.${i + 1}.input_audio.data`)
  assert.deepEqual(notApplied(json), [...first, 'stop'], 'the first 64 of a conversation')
})

test('a request with require_parameters that no endpoint meets is refused with the members that none has', async () => {
  await using portico = await openPortico({ PORTICO_CONFIG: chatConfig({ url: 'http://127.0.0.1:1' }) })
  const of = (name: string) => ({ type: 'function', name, parameters: {} })
  for (const [dialect, body, members] of [
    ['responses', { top_k: 3, max_tool_calls: 2 }, 'top_k, max_tool_calls'],
    ['responses', { tools: [of('a'), { ...of('b'), defer_loading: true }] }, 'tools.1.defer_loading'],
    ['chat/completions', { top_k: 3, min_p: 0.1 }, 'top_k, min_p'],
    ['messages', { top_k: 3 }, 'top_k'],
  ] as const) {
    const { status, json } = await send(portico, `/${dialect}`, {
      ...{ ...DIALECTS[dialect], model: 'openai/gpt-5.5', provider: { require_parameters: true } },
      ...body,
    })
    const demands = `meets the demands of the request: require_parameters, without a place for ${members}`
    const message = `Resource not found: No endpoint of "openai/gpt-5.5" ${demands}`
    assert.deepEqual([status, json.error.message], [404, message], dialect)
  }
})
