import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { create, created, send } from '#test/support/presets.ts'
import { answers, fixture, type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import { type Json, openWith } from '#test/support/responses.ts'

/** What each dialect calls the settings of the tests, and its request. */
const DIALECTS = {
  responses: {
    preset: { instructions: 'Be brief.', max_output_tokens: 33, temperature: 0.25, top_p: 0.5 },
    ask: { input: 'Hi' },
    tool: (name: string) => ({ type: 'function', name, parameters: { type: 'object' } }),
    instructed: { input: 'Hi', instructions: 'Be long.' },
  },
  messages: {
    preset: { system: 'Be brief.', max_tokens: 33, temperature: 0.25, top_p: 0.5 },
    ask: { messages: [{ role: 'user', content: 'Hi' }] },
    tool: (name: string) => ({ name, input_schema: { type: 'object' } }),
    instructed: { messages: [{ role: 'user', content: 'Hi' }], system: 'Be long.' },
  },
  'chat/completions': {
    preset: {
      messages: [{ role: 'system', content: 'Be brief.' }],
      max_completion_tokens: 33,
      temperature: 0.25,
      top_p: 0.5,
    },
    ask: { messages: [{ role: 'user', content: 'Hi' }] },
    tool: (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }),
    instructed: {
      messages: [
        { role: 'system', content: 'Be long.' },
        { role: 'user', content: 'Hi' },
      ],
    },
  },
} as const

/** Sends the request, and returns what the provider received. */
async function upstream(portico: Portico, stub: ProviderStub, dialect: string, body: object) {
  const { status, json } = await send(portico, `/${dialect}`, body)
  assert.equal(status, 200, JSON.stringify(json))
  return stub.seen.at(-1)?.body as Record<string, unknown>
}

async function openBoth() {
  const stub = await startStub(answers(200, fixture('openai-text.json')))
  const portico = await openWith(stub)
  return {
    stub,
    portico,
    async [Symbol.asyncDispose]() {
      await portico[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

const toolNames = (tools: unknown) =>
  (tools as { function: { name: string } }[] | undefined)?.map((tool) => tool.function.name)

for (const [maker, made] of Object.entries(DIALECTS)) {
  for (const [user, used] of Object.entries(DIALECTS)) {
    test(`a preset made by ${maker} serves ${user}, meaning by meaning`, async () => {
      await using both = await openBoth()
      const { portico, stub } = both
      const settings = { ...made.preset, model: 'openai/gpt-a', tools: [made.tool('kept'), made.tool('common')] }
      await created(portico, 'p', maker, settings)
      const seen = await upstream(portico, stub, user, { ...used.ask, model: '@preset/p' })
      assert.deepEqual(seen.messages, [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ])
      const { model, temperature, top_p: topP, max_tokens: older, max_completion_tokens: most = older } = seen
      assert.deepEqual([model, temperature, topP, most], ['gpt-a', 0.25, 0.5, 33])
      assert.deepEqual(toolNames(seen.tools), ['kept', 'common'])

      const tools = [used.tool('own'), used.tool('common')]
      const more = { ...used.instructed, temperature: 0, tools }
      for (const named of [{ model: 'openai/gpt-b@preset/p' }, { model: 'openai/gpt-b', preset: 'p' }]) {
        const own = await upstream(portico, stub, user, { ...more, ...named })
        assert.deepEqual([own.model, own.temperature, own.top_p], ['gpt-b', 0, 0.5])
        assert.deepEqual(toolNames(own.tools), ['kept', 'common', 'own'])
        assert.deepEqual((own.messages as object[])[0], { role: 'system', content: 'Be long.' })
      }
    })
  }
}

for (const [dialect, { ask, tool }] of Object.entries(DIALECTS)) {
  test(`${dialect}: a new version counts on the next request, and an unknown preset is 404`, async () => {
    await using both = await openBoth()
    const { portico, stub } = both
    await created(portico, 'p', dialect, { model: 'openai/a', temperature: 0.1 })
    assert.equal((await upstream(portico, stub, dialect, { ...ask, model: '@preset/p' })).temperature, 0.1)
    await created(portico, 'p', dialect, { model: 'openai/a', temperature: 0.2 })
    assert.equal((await upstream(portico, stub, dialect, { ...ask, model: '@preset/p' })).temperature, 0.2)
    for (const named of [{ model: '@preset/q' }, { model: 'openai/a@preset/q' }, { model: 'openai/a', preset: 'q' }]) {
      assert.equal((await send(portico, `/${dialect}`, { ...ask, ...named })).status, 404)
    }
    const twice = await send(portico, `/${dialect}`, { ...ask, model: '@preset/p', preset: 'p' })
    assert.equal(twice.status, 400)
    assert.equal(stub.seen.length, 2)
  })

  const without = dialect === 'chat/completions' ? 'it is the default one' : 'the request is refused'
  test(`${dialect}: a preset may name the model for its request; if it names none, ${without}`, async () => {
    await using both = await openBoth()
    const { portico, stub } = both
    await created(portico, 'p', dialect, { model: 'openai/a' })
    assert.equal((await upstream(portico, stub, dialect, { ...ask, preset: 'p' })).model, 'a')
    await created(portico, 'p', dialect, { temperature: 0 })
    for (const named of [{ preset: 'p' }, { model: '@preset/p' }]) {
      const { status, json } = await send(portico, `/${dialect}`, { ...ask, ...named })
      if (dialect === 'chat/completions') {
        assert.deepEqual([status, json.model], [200, 'openai/gpt-5.5'])
        continue
      }
      assert.equal(status, 400)
      assert.match(json.error.message, /^Invalid request parameters: model: is required, since the preset names none/)
    }
    assert.equal((await send(portico, `/${dialect}`, { ...ask, preset: 'q' })).status, 404)
    assert.equal(stub.seen.length, dialect === 'chat/completions' ? 3 : 1)
  })

  test(`${dialect}: a preset limits a stream and a whole answer alike`, async () => {
    await using portico = await openPortico()
    await created(portico, 'short', 'chat/completions', { model: 'portico/echo', max_tokens: 3 })
    const body = { ...ask, model: '@preset/short' }
    const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }
    for (const stream of [false, true]) {
      const sent = { method: 'POST', headers, body: JSON.stringify({ ...body, stream }) }
      const answer = await portico.fetch(`/api/v1/${dialect}`, sent)
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      assert.match(text, /"(length|max_tokens|max_output_tokens)"/)
      assert.doesNotMatch(text, /built-in/)
    }
  })

  test(`${dialect}: a call of a tool of the preset may be demanded`, async () => {
    await using both = await openBoth()
    const { portico, stub } = both
    await created(portico, 'p', dialect, { model: 'openai/a', tools: [tool('kept')] })
    const demand = choiceOf(dialect)
    const seen = await upstream(portico, stub, dialect, { ...ask, model: '@preset/p', tool_choice: demand('kept') })
    assert.deepEqual(seen.tool_choice, { type: 'function', function: { name: 'kept' } })
    const missing = await send(portico, `/${dialect}`, { ...ask, model: '@preset/p', tool_choice: demand('none') })
    assert.equal(missing.status, 400)
    assert.match(missing.json.error.message, /tool_choice/)
    await create(portico, 'p', dialect, { model: 'openai/a' })
    assert.equal(
      (await send(portico, `/${dialect}`, { ...ask, model: '@preset/p', tool_choice: demand('kept') })).status,
      400,
    )
  })
}

test('a response repeats the settings of its request, its preset included, whole and streamed', async () => {
  await using portico = await openPortico()
  const schema = { type: 'object', properties: {} }
  await created(portico, 'p', 'chat/completions', {
    ...{ model: 'portico/echo', temperature: 0.25, max_tokens: 33, top_p: 0.5, parallel_tool_calls: false },
    messages: [{ role: 'system', content: 'Be brief.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    tools: [DIALECTS['chat/completions'].tool('kept'), DIALECTS['chat/completions'].tool('common')],
    tool_choice: { type: 'function', function: { name: 'kept' } },
    ...{ reasoning: { effort: 'low' }, verbosity: 'high', service_tier: 'flex' },
  })
  const { tool } = DIALECTS.responses
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }
  const ask = async (more: object, stream: boolean): Promise<Record<string, unknown>> => {
    const body = JSON.stringify({ model: '@preset/p', input: 'Hi', service_tier: 'auto', stream, ...more })
    const text = await (await portico.fetch('/api/v1/responses', { method: 'POST', headers, body })).text()
    if (!stream) return JSON.parse(text)
    const said = text.split('\n').filter((line) => line.startsWith('data: {'))
    const [first, last] = [said[0], said.at(-1)].map((line) => JSON.parse(line?.slice(6) ?? '').response)
    assert.deepEqual(first.tools, last.tools)
    return last
  }
  for (const stream of [false, true]) {
    const kept = await ask({}, stream)
    assert.deepEqual(
      [kept.temperature, kept.top_p, kept.max_output_tokens, kept.parallel_tool_calls, kept.instructions],
      [0.25, 0.5, 33, false, 'Be brief.'],
    )
    assert.deepEqual(kept.text, { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'high' })
    assert.deepEqual(
      [kept.tool_choice, kept.reasoning],
      [
        { type: 'function', name: 'kept' },
        { effort: 'low', summary: null },
      ],
    )
    const format = { type: 'text' }
    const said = { temperature: 0, tools: [tool('own'), tool('common')], tool_choice: 'auto', text: { format } }
    const own = await ask({ ...said, instructions: 'Be long.' }, stream)
    assert.deepEqual([own.temperature, own.top_p, own.tool_choice, own.instructions], [0, 0.5, 'auto', 'Be long.'])
    assert.deepEqual(own.text, { format, verbosity: 'high' })
    assert.deepEqual(
      (own.tools as { name: string }[]).map(({ name }) => name),
      ['own', 'common', 'kept'],
    )
  }
})

test('a response repeats the tools and instructions that the model got: namespaces are merged, the instructions are those of the preset', async () => {
  await using portico = await openPortico()
  const fn = (name: string) => ({ type: 'function', name, parameters: { type: 'object' } })
  const group = (...names: string[]) => ({ type: 'namespace', name: 'crm', description: 'CRM', tools: names.map(fn) })
  const instructions = 'Be brief.'
  await created(portico, 'p', 'responses', { model: 'portico/echo', instructions, tools: [group('a', 'b')] })
  const input = [
    { role: 'developer', content: [] },
    { role: 'user', content: 'Hi' },
  ]
  const { json } = await send(portico, '/responses', { model: '@preset/p', input, tools: [group('b', 'c'), fn('d')] })
  const named = json.tools.map(({ name, tools }: Json) => [name, ...(tools ?? []).map((tool: Json) => tool.name)])
  assert.deepEqual([named, json.instructions], [[['crm', 'b', 'c', 'a'], ['d']], instructions])
  const own = { ...{ model: '@preset/p', input: 'Hi', instructions: 'Be long.' }, tool_choice: 'none' }
  const { json: other } = await send(portico, '/responses', own)
  assert.deepEqual([other.instructions, other.tool_choice], ['Be long.', 'none'])
})

test('a response repeats the tools of its request as they are, and then those that only the preset has', async () => {
  await using portico = await openPortico()
  const fn = { type: 'function', name: 'fn', description: null, parameters: null, strict: false }
  const inside = { ...fn, name: 'inside' }
  const tools = [
    { type: 'web_search', search_context_size: 'low' },
    fn,
    { type: 'namespace', name: 'crm', description: 'CRM', tools: [inside] },
    { type: 'custom', name: 'common', format: { type: 'text' } },
  ]
  const lark = { type: 'custom', name: 'kept', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } }
  const others = [{ type: 'web_search' }, { type: 'code_interpreter', container: 'c' }, { ...fn, name: 'common' }, lark]
  await created(portico, 'p', 'responses', { tools: others })
  const asked = { model: 'portico/echo', input: 'Hi', tools }
  const [plain, completed] = [
    await send(portico, '/responses', asked),
    await send(portico, '/responses', { ...asked, preset: 'p' }),
  ]
  assert.deepEqual(plain.json.tools, tools)
  assert.deepEqual(completed.json.tools, [...tools, lark, others[1]])
})

test('a request for text gets text, even if the preset says JSON', async () => {
  await using both = await openBoth()
  const { portico, stub } = both
  await created(portico, 'p', 'chat/completions', { model: 'openai/a', response_format: { type: 'json_object' } })
  const asked = { ...DIALECTS['chat/completions'].ask, model: '@preset/p' }
  assert.deepEqual((await upstream(portico, stub, 'chat/completions', asked)).response_format, { type: 'json_object' })
  const text = { ...asked, response_format: { type: 'text' } }
  assert.equal((await upstream(portico, stub, 'chat/completions', text)).response_format, undefined)
  const response = { model: '@preset/p', input: 'Hi', text: { format: { type: 'text' } } }
  assert.equal((await upstream(portico, stub, 'responses', response)).response_format, undefined)
})

for (const dialect of ['responses', 'chat/completions'] as const) {
  test(`${dialect}: a choice that allows some tools holds for those of the preset, too`, async () => {
    await using both = await openBoth()
    const { portico, stub } = both
    const { ask, tool } = DIALECTS[dialect]
    await created(portico, 'p', dialect, { model: 'openai/a', tools: [tool('kept'), tool('other')] })
    const allowing = (...names: string[]) => {
      const tools = names.map((name) => choiceOf(dialect)(name))
      const allowed = { mode: 'required', tools }
      return { type: 'allowed_tools', ...(dialect === 'responses' ? allowed : { allowed_tools: allowed }) }
    }
    const asked = { ...ask, model: '@preset/p', tools: [tool('own'), tool('unused')] }
    const seen = await upstream(portico, stub, dialect, { ...asked, tool_choice: allowing('kept', 'own') })
    assert.deepEqual([toolNames(seen.tools), seen.tool_choice], [['kept', 'own'], 'required'])
    const missing = await send(portico, `/${dialect}`, { ...asked, tool_choice: allowing('kept', 'none') })
    assert.equal(missing.status, 400)
    assert.match(missing.json.error.message, /tool_choice.*"none"/)
  })
}

test('a preset hides reasoning, and the setting of a request overrides it', async () => {
  await using portico = await openPortico()
  const hiding = { hidden: { reasoning: { exclude: true } }, left: { include_reasoning: false } }
  const prompt = '/reasoning so be it\n/length 1'
  const messages = [{ role: 'user', content: prompt }]
  for (const [slug, settings] of Object.entries(hiding)) {
    await created(portico, slug, 'chat/completions', { model: 'portico/echo', ...settings })
    const model = `@preset/${slug}`
    const chat = async (more: object = {}) =>
      (await send(portico, '/chat/completions', { model, messages, ...more })).json.choices[0].message.reasoning
    assert.equal(await chat(), null)
    assert.equal(await chat({ include_reasoning: true }), 'so be it')
    assert.equal(await chat({ reasoning: { exclude: false } }), 'so be it')
    assert.equal(await chat({ reasoning: { effort: 'low' } }), 'so be it')
    const message = await send(portico, '/messages', { model, messages, max_tokens: 9 })
    assert.deepEqual(message.json.content, [{ type: 'text', text: 'the' }])
    const response = await send(portico, '/responses', { model, input: prompt })
    assert.deepEqual(
      response.json.output.map(({ type }: { type: string }) => type),
      ['message'],
    )
  }
})

test('a setting that a request turns off is off, even if its preset turns it on', async () => {
  await using both = await openBoth()
  const { portico, stub } = both
  const settings = { model: 'openai/a', logprobs: true, top_logprobs: 2, stop: ['X'], logit_bias: { 1: 2 } }
  await created(portico, 'p', 'chat/completions', settings)
  const asked = { ...DIALECTS['chat/completions'].ask, model: '@preset/p' }
  const on = await upstream(portico, stub, 'chat/completions', asked)
  assert.deepEqual([on.logprobs, on.top_logprobs, on.stop, on.logit_bias], [true, 2, ['X'], { 1: 2 }])
  const off = { ...asked, logprobs: false, stop: [], logit_bias: {} }
  const seen = await upstream(portico, stub, 'chat/completions', off)
  assert.deepEqual([seen.logprobs, seen.top_logprobs, seen.stop, seen.logit_bias], Array(4).fill(undefined))
  const response = await upstream(portico, stub, 'responses', { model: '@preset/p', input: 'Hi', top_logprobs: 0 })
  assert.equal(response.logprobs, undefined)
  const message = { ...DIALECTS.messages.ask, model: '@preset/p', stop_sequences: [] }
  assert.equal((await upstream(portico, stub, 'messages', message)).stop, undefined)
})

function choiceOf(dialect: string): (name: string) => object {
  if (dialect === 'messages') return (name) => ({ type: 'tool', name })
  return dialect === 'responses'
    ? (name) => ({ type: 'function', name })
    : (name) => ({ type: 'function', function: { name } })
}

test('a preset keeps its setting for cached answers, and a request learns that they are not cached', async () => {
  await using both = await openBoth()
  for (const [dialect, { ask }] of Object.entries(DIALECTS)) {
    const cache = { cache_enabled: true, cache_ttl_seconds: 86_400 }
    const { designated_version: version } = await created(both.portico, 'cached', dialect, cache)
    assert.deepEqual(version.config, cache)
    for (const cache_ttl_seconds of [0, 86_401, 'x']) {
      assert.equal((await create(both.portico, 'wrong', dialect, { cache_ttl_seconds })).status, 400)
    }
    const answer = await both.portico.fetch(`/api/v1/${dialect}`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' },
        'x-openrouter-metadata': 'enabled',
      },
      body: JSON.stringify({ model: 'openai/gpt', preset: 'cached', max_tokens: 10, ...ask }),
    })
    const { openrouter_metadata: metadata } = (await answer.json()) as Json
    const names = metadata.pipeline.map(({ name }: Json) => name)
    assert.deepEqual(names, ['cache_enabled'], dialect)
  }
})
