// What a provider sends in another form than its API documents does not get lost on the way.
import assert from 'node:assert/strict'
import test from 'node:test'
import { call } from '#test/support/client.ts'
import { openAnthropic } from '#test/support/messages.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { openWith } from '#test/support/responses.ts'
import { anthropicClient, openAiClient } from '#test/support/vendor-clients.ts'

const user = [{ role: 'user', content: 'Hello' }] as const
const messages = user

const post = (portico: Portico, path: string, body: object) =>
  call(portico, 'POST', path, { model: 'openai/gpt-x', ...body }, { key: PORTICO_KEYS.api })

test('the arguments of a call, sent as an object, reach the client in each dialect', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: { a: 1 } } }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  await using stub = await startStub(answers(200, { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }))
  await using portico = await openWith(stub)
  const chat = await post(portico, '/api/v1/chat/completions', { messages })
  assert.equal(chat.json.choices[0].message.tool_calls[0].function.arguments, '{"a":1}')
  const made = await post(portico, '/api/v1/messages', { messages, max_tokens: 9 })
  assert.deepEqual(made.json.content[0].input, { a: 1 })
  const response = await post(portico, '/api/v1/responses', { input: 'Hello' })
  assert.equal(response.json.output[0].arguments, '{"a":1}')
})

test('a content that makes no sense is a failure of the provider', async () => {
  const message = { role: 'assistant', content: 42 }
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  await using stub = await startStub(answers(200, { choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
  await using portico = await openWith(stub)
  for (const [path, body] of Object.entries({
    '/api/v1/chat/completions': { messages },
    '/api/v1/messages': { messages, max_tokens: 9 },
    '/api/v1/responses': { input: 'Hello' },
  })) {
    const { status, json: answer } = await post(portico, path, body)
    assert.equal(status, 502, path)
    assert.match(answer.error.message, /openai is unavailable: It sent a content that is neither text nor a list/)
  }
})

/** An answer as the clients of the three dialects follow it. */
async function followed(portico: Portico, model: string) {
  const [openai, anthropic] = [openAiClient(portico), anthropicClient(portico)]
  const chat = await openai.chat.completions.stream({ model, messages: [...user] }).finalChatCompletion()
  const response = await openai.responses.stream({ model, input: 'Hello' }).finalResponse()
  const message = await anthropic.messages.stream({ model, max_tokens: 99, messages: [...user] }).finalMessage()
  return {
    chat: [chat.choices[0]?.message.content, chat.choices[0]?.finish_reason],
    responses: [response.output.map(({ type }) => type), response.output_text],
    messages: [message.content.map((block) => (block.type === 'text' ? block.text : block.type)), message.stop_reason],
  }
}

test('a stream without its opening events, or with two, reaches the clients whole', async () => {
  const event = (type: string, more: object) => `data: ${JSON.stringify({ type, ...more })}\n\n`
  const place = { output_index: 0, item_id: 'rs_1', summary_index: 0 }
  const text = { output_index: 1, item_id: 'msg_1', content_index: 0 }
  const thinks =
    event('response.reasoning_summary_text.delta', { ...place, delta: 'Hm.' }) +
    event('response.output_text.delta', { ...text, delta: 'Hi' }) +
    event('response.completed', { response: { status: 'completed' } })
  await using responses = await startStub(streams(thinks))
  const provider = {
    id: 'openai',
    protocol: 'openai-responses',
    baseURL: responses.url,
    apiKey: 'k',
    models: [{ id: 'gpt-x' }],
  }
  await using first = await openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
  assert.deepEqual(await followed(first, 'openai/gpt-x'), {
    chat: ['Hi', 'stop'],
    responses: [['reasoning', 'message'], 'Hi'],
    messages: [['thinking', 'Hi'], 'end_turn'],
  })
  const start = event('message_start', { message: { usage: { input_tokens: 3 } } })
  const says =
    event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Hi' } }) +
    event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }) +
    event('message_stop', {})
  for (const opening of ['', start + start]) {
    await using messages = await startStub(streams(opening + says))
    await using second = await openAnthropic(messages)
    assert.deepEqual(await followed(second, 'anthropic/claude-sonnet-5-5'), {
      chat: ['Hi', 'stop'],
      responses: [['message'], 'Hi'],
      messages: [['Hi'], 'end_turn'],
    })
  }
})
