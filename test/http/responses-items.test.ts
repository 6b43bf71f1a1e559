// What a client gets of an answer besides text, and that it is sent back to the provider that made it.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, jsonSchema, tool } from 'ai'
import OpenAI from 'openai'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { answers, fixture, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { type Json, openWith, post, stream } from '#test/support/responses.ts'

const apiKey = PORTICO_KEYS.api
const model = 'openai/gpt-5.5'

/** Portico with a stub of the Responses API for its provider `openai`. */
function openResponses({ url }: ProviderStub): Promise<Portico> {
  return openPortico({ OPENAI_API_KEY: 'sk-upstream', OPENAI_BASE_URL: `${url}/v1` })
}

/** What the stub received. */
const bodiesOf = ({ seen }: ProviderStub): Json[] => seen.map(({ body }) => body as Json)

/** Items without what is unique to each answer. */
const shapes = (items: readonly Json[]): Json[] => items.map(({ id: _, status: __, ...rest }) => rest)

test('openai: thoughts, hosted items, grouped and custom calls come by the stream helper, and go back as they were', async () => {
  await using stub = await startStub((response) => {
    if (stub.seen.length === 1) streams(fixture('responses-tools.sse'))(response)
    else answers(200, fixture('responses-text.json'))(response)
  })
  await using portico = await openResponses(stub)
  const client = new OpenAI({ apiKey, baseURL: `${portico.url}/v1`, maxRetries: 0 })
  const tools: OpenAI.Responses.Tool[] = [
    { type: 'web_search' },
    { type: 'custom', name: 'apply_patch', format: { type: 'text' } },
    { type: 'namespace', name: 'files', description: 'Files', tools: [{ type: 'function', name: 'list' }] },
  ]
  const asked: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Patch it.' }]
  const more = { include: ['web_search_call.action.sources' as const], truncation: 'auto' as const }
  const final = await client.responses.stream({ model, input: asked, tools, ...more }).finalResponse()
  const [thought, search, call, patch] = final.output as Json[]
  assert.deepEqual(
    final.output.map(({ type }) => type),
    [...['reasoning', 'web_search_call', 'function_call', 'custom_tool_call']],
  )
  assert.deepEqual([thought?.encrypted_content, thought?.format], ['gAAAA==', 'openai-responses-v1'])
  const known = JSON.parse(fixture('responses-tools.json')).output as Json[]
  assert.deepEqual(search, known[1])
  assert.deepEqual([call?.namespace, call?.arguments, patch?.input], ['files', '{"path":"."}', '*** Begin Patch'])

  const results = [
    { type: 'function_call_output', call_id: 'call_A', output: 'a.md' },
    { type: 'custom_tool_call_output', call_id: 'call_B', output: 'done' },
  ]
  const input = [...asked, ...final.output, ...results] as OpenAI.Responses.ResponseInput
  await client.responses.create({ model, input, tools })
  const [first, second] = bodiesOf(stub) as [Json, Json]
  assert.deepEqual(first.include, ['web_search_call.action.sources', 'reasoning.encrypted_content'])
  assert.deepEqual([first.truncation, second.truncation], ['auto', undefined])
  assert.deepEqual((first.tools as Json[]).map(({ type, name }) => name ?? type).toSorted(), [
    'apply_patch',
    'files',
    'web_search',
  ])
  const sent = (second.input as Json[]).filter(({ role }) => role === undefined)
  const summary = known[0]?.summary.map(({ text }: Json) => text).join('\n\n')
  const { type, encrypted_content } = known[0] as Json
  assert.deepEqual(shapes(sent), [
    { type, encrypted_content, summary: [{ type: 'summary_text', text: summary }] },
    ...shapes(known.slice(1)),
    ...results,
  ])
})

test('@ai-sdk/openai: a thought of another kind of provider survives between two steps', async () => {
  await using stub = await startStub((response) => {
    if (stub.seen.length === 1) streams(fixture('anthropic-tools.sse'))(response)
    else streams(fixture('anthropic-sources.sse'))(response)
  })
  await using portico = await openPortico({ ANTHROPIC_API_KEY: 'sk-upstream', ANTHROPIC_BASE_URL: stub.url })
  const inputSchema = jsonSchema<object>({ type: 'object', properties: {} })
  const list = tool({ inputSchema, execute: () => Promise.resolve('a.md') })
  const { steps } = await generateText({
    model: createOpenAI({ apiKey, baseURL: `${portico.url}/v1` }).responses('anthropic/claude-sonnet-5-5'),
    prompt: 'Look.',
    tools: { list, now: list },
    stopWhen: isStepCount(2),
    providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
  })
  assert.equal(steps.length, 2)
  const [, second] = bodiesOf(stub) as [Json, Json]
  const said = second.messages[1].content as Json[]
  const proofs = said.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
  assert.deepEqual(
    proofs.map(({ signature, data }) => signature ?? data),
    ['EqQBCg==', 'EmwKAh=='],
  )
})

test('a request for metadata gets the pipeline and what was not applied, whole and streamed', async () => {
  await using stub = await startStub((response) => {
    if (stub.seen.length === 1) answers(200, fixture('openai-text.json'))(response)
    else streams(fixture('openai-text.sse'))(response)
  })
  await using portico = await openWith(stub)
  const request = {
    ...{ model, input: 'Hello', models: ['a/b'], tools: [{ type: 'web_search' }] },
    ...{ provider: { sort: 'price' }, truncation: 'auto', include: ['file_search_call.results'] },
    ...{ x_search_filter: {}, debug: { echo_upstream_body: true } },
  }
  const headers = { 'x-openrouter-metadata': 'enabled' }
  const whole = (await (await post(portico, request, headers)).json()) as Json
  const { pipeline, summary, ...metadata } = whole.openrouter_metadata as Json
  const names = [
    'models',
    'debug.echo_upstream_body',
    'x_search_filter',
    'provider.sort',
    'tools.0',
    'include',
    'truncation',
  ]
  assert.deepEqual(
    (pipeline as Json[]).map(({ name }) => name),
    names,
  )
  assert.equal(summary, `served by openai; not applied: ${names.join(', ')}`)
  assert.deepEqual(metadata, {
    ...{ requested: model, strategy: 'direct', region: null, attempt: 1, is_byok: false },
    endpoints: { total: 1, available: [{ provider: 'openai', model, selected: true }] },
  })
  const text = await (await post(portico, { ...request, stream: true }, headers)).text()
  const last = JSON.parse(text.split('\n\n').at(-3)?.slice('data: '.length) ?? '') as Json
  assert.deepEqual(last.response.openrouter_metadata, whole.openrouter_metadata)
  const events = await stream(portico, request)
  assert.equal(
    events.some(({ response }) => response !== undefined && 'openrouter_metadata' in response),
    false,
  )
})
