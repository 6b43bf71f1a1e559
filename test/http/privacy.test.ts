// No prompt, answer or key appears in logs or traces: every text of a request and of its answer is marked, and searched
// for.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { inspect } from 'node:util'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { created } from '#test/support/presets.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json } from '#test/support/responses.ts'
import { recordSpans } from '#test/support/spans.ts'
import { waitFor } from '#test/support/wait-until.ts'

const MARK = 'mArKeD'
/** What a request says of itself under `trace` is meant for its span, and for nothing else. */
const TRACED = 'tRaCeD'
const parameters = { type: 'object', properties: { [MARK]: { type: 'string', description: MARK } } }
const schema = { type: 'json_schema', name: MARK, schema: parameters }

const data = Buffer.from(MARK).toString('base64')
const MEDIA = [
  { type: 'input_image', image_url: `data:image/png;base64,${data}` },
  { type: 'input_file', filename: MARK, file_data: `data:text/plain,${MARK}` },
]
const SPOKEN = { type: 'output_text', text: MARK, annotations: [{ type: 'url_citation', url: MARK, title: MARK }] }
const DOCUMENT = { type: 'document', title: MARK, source: { type: 'text', media_type: 'text/plain', data: MARK } }
/** A preset in which every text is marked. */
const PRESET = { model: 'upstream/m', instructions: MARK, tools: [{ type: 'function', name: `${MARK}2`, parameters }] }
/** Headers that are marked. */
const HEADERS = { 'x-title': MARK, 'http-referer': MARK, 'x-openrouter-categories': MARK }

/** A body for each dialect in which every text of the caller is marked. */
const BODIES: Readonly<Record<string, Json>> = {
  '/api/v1/chat/completions': {
    messages: [
      { role: 'system', content: MARK, name: MARK },
      { role: 'user', content: [{ type: 'text', text: MARK }, file(MARK)] },
      {
        role: 'assistant',
        content: MARK,
        refusal: MARK,
        reasoning_details: [
          { type: 'reasoning.text', text: MARK, signature: MARK },
          { type: 'reasoning.encrypted', data: MARK },
        ],
        tool_calls: [{ id: MARK, type: 'function', function: { name: MARK, arguments: MARK } }],
      },
      { role: 'tool', tool_call_id: MARK, content: MARK },
    ],
    tools: [
      { type: 'function', function: { name: MARK, description: MARK, parameters } },
      {
        type: 'custom',
        custom: { name: 'c', format: { type: 'grammar', grammar: { syntax: 'lark', definition: MARK } } },
      },
    ],
    response_format: { type: 'json_schema', json_schema: schema },
    stop: [MARK],
    prediction: { type: 'content', content: MARK },
    user: MARK,
    safety_identifier: MARK,
    metadata: { [MARK]: MARK },
    image_config: { [MARK]: MARK },
    logit_bias: { [MARK]: 1 },
    preset: 'own',
  },
  '/api/v1/responses': {
    instructions: MARK,
    input: [
      { role: 'user', content: [{ type: 'input_text', text: MARK }, ...MEDIA] },
      { role: 'assistant', id: MARK, status: 'completed', content: [SPOKEN] },
      { type: 'reasoning', id: MARK, summary: [{ type: 'summary_text', text: MARK }], encrypted_content: MARK },
      { type: 'function_call', call_id: MARK, name: MARK, arguments: MARK },
      { type: 'function_call_output', call_id: MARK, output: MARK },
    ],
    tools: [{ type: 'function', name: MARK, description: MARK, parameters }],
    text: { format: schema },
    user: MARK,
    metadata: { [MARK]: MARK },
    x_search_filter: { [MARK]: MARK },
    preset: 'own',
  },
  '/api/v1/messages': {
    max_tokens: 100,
    system: MARK,
    messages: [
      { role: 'user', content: [{ type: 'text', text: MARK }, DOCUMENT] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: MARK, signature: MARK }] },
      { role: 'user', content: 'And?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: MARK, name: MARK, input: { [MARK]: MARK } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: MARK, content: MARK }] },
    ],
    tools: [{ name: MARK, description: MARK, input_schema: parameters }],
    stop_sequences: [MARK],
    metadata: { user_id: MARK },
    context_management: { [MARK]: MARK },
    preset: 'own',
  },
}

function file(text: string): Json {
  return { type: 'file', file: { filename: text, file_data: `data:text/plain,${text}` } }
}

const call = { id: MARK, type: 'function', function: { name: MARK, arguments: `{"a":"${MARK}"}` } }
const message = { content: MARK, reasoning: MARK, refusal: MARK, tool_calls: [call] }
/** An answer in the form of each protocol. */
const WHOLE: Readonly<Record<string, Json>> = {
  openai: { choices: [{ message, finish_reason: 'stop' }] },
  'openai-responses': {
    status: 'completed',
    output: [
      { type: 'message', content: [{ type: 'output_text', text: MARK }] },
      { type: 'function_call', call_id: MARK, name: MARK, arguments: MARK },
    ],
  },
  anthropic: {
    content: [
      { type: 'text', text: MARK },
      { type: 'tool_use', id: MARK, name: MARK, input: { [MARK]: MARK } },
    ],
    stop_reason: 'tool_use',
  },
}
/** What else a provider may do. */
const OTHERS: readonly ((response: ServerResponse) => void)[] = [
  streams(chunk({ reasoning: MARK, content: MARK }) + chunk({ tool_calls: [{ ...call, index: 0 }] }) + chatEnd()),
  streams(`${chunk({ content: MARK })}data: {${MARK}\n\n`),
  answers(200, `{"${MARK}`),
  answers(400, { error: { message: MARK, code: MARK, param: MARK } }),
  answers(500, MARK),
]

function open({ url }: ProviderStub, protocol: string): Promise<Portico> {
  const models = [{ id: 'm' }]
  const provider = { id: 'upstream', protocol, baseURL: url, apiKey: `sk-${MARK}`, models }
  return openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
}

const CELLS = Object.keys(WHOLE).flatMap((protocol) =>
  Object.entries(BODIES).map(([path, body]) => ({ protocol, path, body })),
)

for (const { protocol, path, body } of CELLS) {
  test(`${path} with a provider of the protocol ${protocol} leaves no word of a request, its preset or its answer in logs and traces`, async () => {
    await using spans = await recordSpans()
    const all = [answers(200, WHOLE[protocol]), ...OTHERS]
    let [answer] = all
    await using stub = await startStub((response) => answer?.(response))
    await using portico = await open(stub, protocol)
    await created(portico, 'own', 'responses', PRESET)
    const send = async (more: Json | string): Promise<void> => {
      const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json', ...HEADERS }
      const whole = { model: 'upstream/m', trace: { [TRACED]: TRACED }, ...body }
      const text = typeof more === 'string' ? more : JSON.stringify({ ...whole, ...more })
      await (await portico.fetch(path, { method: 'POST', headers, body: text })).text()
    }
    for (const provider of all) {
      answer = provider
      for (const stream of [false, true]) await send({ stream })
    }
    assert.equal(stub.seen.length, 2 * all.length)
    assert.ok(JSON.stringify(stub.seen[0]).includes(`${MARK}2`))
    // Refusals before a provider is called.
    await send({ temperature: MARK })
    await send({ [MARK]: MARK, tools: [{ type: MARK, name: MARK }] })
    await send(`{"model":"${MARK}","${MARK}`)
    const routes = () => spans.ended().filter(({ name }) => name === `POST ${path}`)
    await waitFor(
      'every request to be over',
      () => routes().length === 2 * all.length + 3,
      () => routes().length,
    )
    const logged = JSON.stringify(portico.log)
    assert.ok(portico.log.length > 0)
    const traced = inspect(spans.ended(), { depth: 8, maxStringLength: null, maxArrayLength: null })
    assert.ok(!logged.includes(TRACED) && traced.includes(`'portico.trace.${TRACED}': '${TRACED}'`))
    for (const text of [logged, traced]) {
      const at = text.indexOf(MARK)
      assert.ok(at < 0, text.slice(Math.max(0, at - 500), at + 200))
      assert.ok(!text.includes(PORTICO_KEYS.api))
    }
  })
}
