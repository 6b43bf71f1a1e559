// Through the whole product: what a client sends reaches a provider in the provider's format, and what the provider
// answers reaches the client in the client's.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { generateText, isStepCount, jsonSchema, streamText, tool } from 'ai'
import { askChat, chatUsage, foldChunks, postChat, streamChat } from '#test/support/chat.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, fixture, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json } from '#test/support/responses.ts'

const model = 'openrouter/m'
const hello = { model, messages: [{ role: 'user', content: 'Hello' }] }

/** Portico with a stub that speaks like OpenRouter. */
function open({ url }: ProviderStub, env: Record<string, string> = {}): Promise<Portico> {
  const models = [{ id: 'm', pricing: { input: 1, output: 2 } }]
  const provider = { id: 'openrouter', protocol: 'openai', baseURL: `${url}/v1`, apiKey: 'sk-upstream', models }
  return openPortico({ PORTICO_CONFIG: providerConfig([provider]), ...env })
}

const completed = answers(200, { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] })

test('every member of a request reaches a provider that has it', async () => {
  await using stub = await startStub(completed)
  await using portico = await open(stub)
  const sampling = {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    min_p: 0.1,
    top_a: 0.2,
    frequency_penalty: 1,
    presence_penalty: -1,
    repetition_penalty: 1.5,
    seed: 7,
    stop: ['a', 'b', 'c', 'd', 'e'],
    logit_bias: { '50256': -100 },
    logprobs: true,
    top_logprobs: 2,
  }
  const parts = [
    { type: 'text', text: 'Look', cache_control: { type: 'ephemeral', ttl: '1h' } },
    { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'file', file: { filename: 'f.txt', file_data: 'data:text/plain;base64,eA==' } },
  ]
  const details = [{ type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 }]
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const functions = { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true }
  const schema = { type: 'object' }
  const request = {
    model,
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      { role: 'user', content: parts },
      { role: 'assistant', content: 'I call.', reasoning: 'hm', reasoning_details: details, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    ],
    ...sampling,
    max_tokens: 9,
    tools: [{ type: 'function', function: functions }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    reasoning: { effort: 'low', summary: 'auto' },
    verbosity: 'low',
    prediction: { type: 'content', content: 'Hi' },
    service_tier: 'flex',
    user: 'somebody',
    modalities: ['text', 'image'],
    image_config: { size: 'big' },
  }
  await askChat(portico, request)
  const { messages, tools, ...sent } = (stub.seen[0]?.body ?? {}) as Json
  const { messages: _, tools: __, model: ___, ...asked } = request
  assert.deepEqual(sent, { ...asked, model: 'm', stream: false })
  assert.deepEqual(tools, request.tools)
  assert.deepEqual(messages[0], { role: 'system', content: 'Be brief.' })
  assert.deepEqual(messages[1], { role: 'user', content: parts })
  const { reasoning_details: kept, ...said } = messages[2]
  assert.deepEqual(said, { role: 'assistant', content: 'I call.', tool_calls: [call] })
  assert.deepEqual(
    kept.map(({ type, text, signature, format }: Json) => ({ type, text, signature, format })),
    details.map(({ index: _, ...detail }) => detail),
  )
  assert.deepEqual(messages[3], { role: 'tool', tool_call_id: 'c1', content: 'done' })
})

test('a grammar for the answer reaches a provider that takes one; otherwise it is named, and so is an unknown tool', async () => {
  const headers = { 'x-openrouter-metadata': 'enabled' }
  const request = { ...hello, response_format: { type: 'grammar', grammar: 'root ::= "x"' } }
  await using stub = await startStub((response) => {
    if (stub.seen.at(-1)?.path === '/v1/responses') answers(200, fixture('responses-text.json'))(response)
    else completed(response)
  })
  await using portico = await open(stub, { OPENAI_API_KEY: 'sk-up', OPENAI_BASE_URL: `${stub.url}/v1` })
  const named = async (more: Json): Promise<string[]> => {
    const { openrouter_metadata: metadata } = await askChat(portico, { ...request, ...more }, headers)
    return (metadata.pipeline ?? []).map(({ name }: Json) => name)
  }
  const tools = [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }]
  assert.deepEqual(await named({ tools }), ['tools.1'])
  assert.deepEqual(Object(stub.seen.at(-1)?.body).response_format, request.response_format)
  assert.deepEqual(await named({ model: 'openai/gpt-5.5' }), ['response_format.grammar'])
})

test('a stop text ends an answer also if the provider has no such setting, whole and streamed', async () => {
  await using stub = await startStub((response) => {
    const streamed = Object(stub.seen.at(-1)?.body).stream === true
    const answer = streamed ? streams(fixture('responses-text.sse')) : answers(200, fixture('responses-text.json'))
    answer(response)
  })
  await using portico = await openPortico({ OPENAI_API_KEY: 'sk-up', OPENAI_BASE_URL: `${stub.url}/v1` })
  const request = { ...hello, model: 'openai/gpt-5.5', stop: ['end'] }
  const [choice] = (await askChat(portico, request)).choices
  assert.deepEqual([choice.message.content, choice.message.refusal, choice.finish_reason], ['Leases ', null, 'stop'])
  const chunks = await streamChat(portico, request)
  assert.equal(foldChunks(chunks).content, 'Leases ')
  assert.equal(chunks.at(-2)?.choices[0].finish_reason, 'stop')
  assert.equal(chunks.at(-1)?.usage.completion_tokens > 0, true)
})

test('reasoning, text and pictures of a provider come whole and streamed, with their cost', async () => {
  const details = [
    { type: 'reasoning.text', text: 'Let me see.', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 },
  ]
  const expected = {
    role: 'assistant',
    content: 'Here: ',
    refusal: null,
    reasoning: 'Let me see.',
    reasoning_details: details,
    images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw==' }, index: 0 }],
  }
  for (const form of ['json', 'sse'] as const) {
    const text = fixture(`openrouter-reasoning.${form}`)
    await using stub = await startStub(form === 'json' ? answers(200, text) : streams(text))
    await using portico = await open(stub)
    const chunks = form === 'sse' ? await streamChat(portico, hello) : undefined
    const whole = chunks === undefined ? await askChat(portico, hello) : undefined
    const [choice] = whole?.choices ?? []
    assert.deepEqual(choice?.message ?? foldChunks(chunks ?? []), expected)
    const ended = choice ?? chunks?.at(-2)?.choices[0]
    assert.deepEqual([ended.finish_reason, ended.native_finish_reason], ['length', 'max_tokens'])
    const { cost, cost_details: _, ...usage } = whole?.usage ?? chunks?.at(-1)?.usage ?? {}
    assert.deepEqual(usage, chatUsage(3, 5, { reasoning: 2, written: 3 }))
    assert.equal(typeof cost, 'number')
  }
})

test('log probabilities and sources of a provider come whole and streamed', async () => {
  const token = {
    token: 'Hi',
    logprob: -0.5,
    bytes: [72, 105],
    top_logprobs: [{ token: 'Ho', logprob: -1, bytes: null }],
  }
  const citation = { url: 'https://a', title: 'A', start_index: 0, end_index: 2, content: 'c' }
  const annotations = [{ type: 'url_citation', url_citation: citation }]
  const message = { content: 'Hi', annotations }
  const logprobs = { content: [token], refusal: null }
  const request = { ...hello, logprobs: true, top_logprobs: 1 }
  {
    await using stub = await startStub(answers(200, { choices: [{ message, logprobs, finish_reason: 'stop' }] }))
    await using portico = await open(stub)
    const [choice] = (await askChat(portico, request)).choices
    assert.deepEqual([choice.message.annotations, choice.logprobs], [annotations, logprobs])
  }
  const choices = [{ index: 0, delta: { content: 'Hi' }, logprobs, finish_reason: null }]
  const first = `data: ${JSON.stringify({ id: 'c', choices })}\n\n`
  await using stub = await startStub(streams(first + chunk({ annotations }) + chatEnd()))
  await using portico = await open(stub)
  const chunks = await streamChat(portico, request)
  assert.deepEqual(foldChunks(chunks).annotations, annotations)
  const said = chunks.find(({ choices: [choice] }) => choice?.delta.content === 'Hi')
  assert.deepEqual(said?.choices[0].logprobs, logprobs)
})

test('parallel calls whose arguments come in turns reach the client by their numbers', async () => {
  const piece = (index: number, text: string, more: object = {}): string =>
    chunk({ tool_calls: [{ index, ...more, function: { ...more, arguments: text } }] })
  const begin = (index: number): string => piece(index, '', { id: `c${index}`, type: 'function', name: `f${index}` })
  const text = begin(0) + begin(1) + piece(0, '{"a"') + piece(1, '{"b"') + piece(0, ':1}') + piece(1, ':2}')
  await using stub = await startStub(streams(text + chatEnd('tool_calls')))
  await using portico = await open(stub)
  const tools = ['f0', 'f1'].map((name) => ({ type: 'function', function: { name } }))
  const { tool_calls: calls } = foldChunks(await streamChat(portico, { ...hello, tools }))
  assert.deepEqual(calls, [
    { id: 'c0', type: 'function', function: { name: 'f0', arguments: '{"a":1}' } },
    { id: 'c1', type: 'function', function: { name: 'f1', arguments: '{"b":2}' } },
  ])
})

test('a conversation that is too long ends a stream by length, and is an error without a stream', async () => {
  const given = { message: 'Too long', code: 'context_length_exceeded', type: 'invalid_request_error' }
  await using stub = await startStub(answers(400, { error: given }))
  await using portico = await open(stub)
  const answer = await postChat(portico, hello)
  const { error } = (await answer.json()) as Json
  assert.deepEqual([answer.status, error.metadata.error_type], [400, 'context_length_exceeded'])
  assert.equal(error.message, 'Invalid request parameters: openrouter refused the request: Too long')
  const chunks = await streamChat(portico, hello)
  assert.deepEqual(
    chunks.flatMap(({ choices }) => choices.map(({ finish_reason }: Json) => finish_reason)).at(-1),
    'length',
  )
})

const details = [
  { type: 'reasoning.text', text: 'I should look.', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 },
]
const called = { index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } }

for (const streamed of [false, true]) {
  test(`a thought with its proof survives a tool call of the AI SDK, ${streamed ? 'streamed' : 'whole'}`, async () => {
    let asked = 0
    await using stub = await startStub((response) => {
      const first = asked++ === 0
      if (streamed) {
        const think = chunk({ reasoning: 'I should look.', reasoning_details: details })
        const look = think + chunk({ tool_calls: [called] }) + chatEnd('tool_calls')
        return streams(first ? look : chunk({ content: 'Done.' }) + chatEnd())(response)
      }
      const look = { content: null, reasoning: 'I should look.', reasoning_details: details, tool_calls: [called] }
      const [message, finish_reason] = first ? [look, 'tool_calls'] : [{ content: 'Done.' }, 'stop']
      return answers(200, { choices: [{ message, finish_reason }] })(response)
    })
    await using portico = await open(stub)
    const request = {
      model: createOpenRouter({ apiKey: PORTICO_KEYS.api, baseURL: `${portico.url}/api/v1` }).chat(model),
      prompt: 'What is it?',
      tools: { look: tool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => Promise.resolve('a cat') }) },
      stopWhen: isStepCount(3),
    }
    assert.equal(streamed ? await streamText(request).text : (await generateText(request)).text, 'Done.')
    const { messages } = (stub.seen[1]?.body ?? {}) as Json
    const said = messages.find(({ role }: Json) => role === 'assistant')
    assert.deepEqual(
      said.reasoning_details.map(({ text, signature, format }: Json) => [text, signature, format]),
      details.map(({ text, signature, format }) => [text, signature, format]),
    )
    assert.equal(messages.at(-1).content, 'a cat')
  })
}

test('an item of a tool that the provider ran comes back to it with the history', async () => {
  const item = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }
  const content = [{ type: 'output_text', text: 'Hi', annotations: [] }]
  const said = { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content }
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [item, said], usage }
  await using stub = await startStub(answers(200, response))
  await using portico = await openPortico({ OPENAI_API_KEY: 'sk-upstream', OPENAI_BASE_URL: `${stub.url}/v1` })
  const request = {
    model: 'openai/gpt-5.5',
    messages: [{ role: 'user', content: 'Search.' }],
    tools: [{ type: 'web_search', search_context_size: 'low' }],
  }
  const { message } = (await askChat(portico, request)).choices[0]
  assert.equal(message.content, 'Hi')
  await askChat(portico, { ...request, messages: [...request.messages, message, { role: 'user', content: 'Again.' }] })
  const [first, second] = stub.seen.map(({ body }) => body as Json)
  assert.deepEqual(first?.tools, request.tools)
  assert.deepEqual(
    second?.input.find(({ type }: Json) => type === item.type),
    item,
  )
})

test('a stop text without letters is none, and a thought without details of its own is kept by its words', async () => {
  await using stub = await startStub(completed)
  await using portico = await open(stub)
  for (const [stop, sent] of [
    ['', undefined],
    [['', 'END'], ['END']],
    [[''], undefined],
  ] as const) {
    await askChat(portico, { ...hello, stop })
    assert.deepEqual(Object(stub.seen.at(-1)?.body).stop, sent)
  }
  const thought = { type: 'reasoning.text', text: 'hm' }
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const proof = { type: 'reasoning.encrypted', data: 'p', id: 'c1', format: 'google-gemini-v1' }
  for (const [given, kept] of [
    [[], [thought]],
    [[proof], [thought, proof]],
  ] as const) {
    const said = {
      role: 'assistant',
      content: 'I call.',
      reasoning: 'hm',
      reasoning_details: given,
      tool_calls: [call],
    }
    const result = { role: 'tool', tool_call_id: 'c1', content: 'done' }
    await askChat(portico, { ...hello, messages: [...hello.messages, said, result] })
    assert.deepEqual(Object(stub.seen.at(-1)?.body).messages[1].reasoning_details, kept)
  }
})
