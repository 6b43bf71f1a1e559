// Output that nobody gets, because a stop text came before it or the answer was cut off, is charged for all the same.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { askChat, foldChunks, streamChat } from '#test/support/chat.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

const said = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const text = 'One END and much more that nobody gets'
const item = (content: string) => ({
  ...{ type: 'message', id: 'm', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: content, annotations: [] }],
})
const usage = { input_tokens: 7, output_tokens: 5_000 }
const responseOf = (content: string) => ({ status: 'completed', output: [item(content)], usage })
const delta = (content: string) =>
  said({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: content })
const begun = (content: string) => said({ type: 'response.created', response: {} }) + delta(content)
const ended = (content: string) =>
  said({ type: 'response.output_item.done', output_index: 0, item: item(content) }) +
  said({ type: 'response.completed', response: responseOf(content) })

type Answer = (response: ServerResponse) => unknown

async function open(protocol: 'openai' | 'openai-responses', whole: Answer, streamed: Answer) {
  const stub = await startStub((response) => {
    const { stream } = Object(stub.seen.at(-1)?.body)
    return (stream === true ? streamed : whole)(response)
  })
  const models = [{ id: 'm', pricing: { input: 1, output: 2 } }]
  const provider = { id: 'p', protocol, baseURL: stub.url, apiKey: 'sk-upstream', models }
  return { stub, portico: await openPortico({ PORTICO_CONFIG: providerConfig([provider]) }) }
}

const request = { model: 'p/m', messages: [{ role: 'user', content: 'Count' }], stop: ['END'] }

/** What a client gets of an answer and its usage, streamed, and the usage in the ledger. */
async function streamedBy(portico: Portico) {
  const chunks = await streamChat(portico, request)
  const { content } = foldChunks(chunks)
  const [reason] = chunks.flatMap(({ choices }) => choices.flatMap((choice: Json) => choice.finish_reason ?? []))
  const shown = chunks.at(-1)?.usage as Json
  return {
    content,
    reason,
    tokens: [shown.prompt_tokens, shown.completion_tokens],
    row: await rowOf(portico, chunks[0]),
  }
}

async function rowOf({ fetch }: Portico, answer: Json | undefined): Promise<number> {
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  const row = await fetch(`/api/v1/generation?id=${answer?.id}`, { headers })
  return ((await row.json()) as Json).data.tokens_completion
}

test('a stop text ends an answer, and its usage is what the provider reports, streamed as whole', async () => {
  const { stub, portico } = await open(
    'openai-responses',
    answers(200, responseOf(text)),
    streams(begun(text) + ended(text)),
  )
  await using _stub = stub
  await using _ = portico
  const whole = await askChat(portico, request)
  const { content, reason, tokens, row } = await streamedBy(portico)
  assert.deepEqual([whole.choices[0].message.content, whole.choices[0].finish_reason], ['One ', 'stop'])
  assert.deepEqual([content, reason], ['One ', 'stop'])
  assert.deepEqual([whole.usage.prompt_tokens, whole.usage.completion_tokens], [7, 5_000])
  assert.deepEqual(tokens, [7, 5_000])
  assert.deepEqual([await rowOf(portico, whole), row], [5_000, 5_000])
})

test('all received output counts if no usage follows a stop text', async () => {
  const more = 'x'.repeat(3_000)
  const cut: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(begun('One EN') + delta('D') + delta(more), () => setImmediate(() => response.destroy()))
  }
  const failed = said({ type: 'response.failed', response: { status: 'failed', error: { message: 'M' } } })
  for (const streamed of [cut, streams(begun('One EN') + delta('D') + delta(more) + failed)]) {
    const { stub, portico } = await open('openai-responses', answers(200, {}), streamed)
    await using _stub = stub
    await using _ = portico
    const { content, reason, tokens, row } = await streamedBy(portico)
    assert.deepEqual([content, reason], ['One ', 'stop'])
    assert.ok(Number(tokens[1]) >= 1_000, `${tokens[1]}`)
    assert.equal(row, tokens[1])
  }
})

test('an answer that is cut off has the usage that comes after the cut', async () => {
  const long = 'x'.repeat(1_100_000)
  const counted = { prompt_tokens: 7, completion_tokens: 400_000 }
  const chunk = (rest: object) => said({ choices: [{ index: 0, ...rest }] })
  const streamed = chunk({ delta: { content: long } }) + chunk({ delta: { content: 'y' } })
  const end = chunk({ delta: {}, finish_reason: 'stop' }) + said({ choices: [], usage: counted })
  const { stub, portico } = await open(
    'openai',
    answers(200, { choices: [{ message: { content: long }, finish_reason: 'stop' }], usage: counted }),
    streams(`${streamed}${end}data: [DONE]\n\n`),
  )
  await using _stub = stub
  await using _ = portico
  const whole = await askChat(portico, request)
  const { content, reason, tokens } = await streamedBy(portico)
  assert.equal(content, whole.choices[0].message.content)
  assert.deepEqual([reason, whole.choices[0].finish_reason], ['length', 'length'])
  assert.deepEqual([tokens[1], whole.usage.completion_tokens], [400_000, 400_000])
})
