import assert from 'node:assert/strict'
import test from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'
import { waitFor } from '#test/support/wait-until.ts'

const id = 'portico/echo'
const apiKey = PORTICO_KEYS.api
const MODELS = {
  '@ai-sdk/openai': ({ url }: Portico, name = id) => createOpenAI({ apiKey, baseURL: `${url}/api/v1` }).chat(name),
  '@openrouter/ai-sdk-provider': ({ url }: Portico, name = id) =>
    createOpenRouter({ apiKey, baseURL: `${url}/api/v1` }).chat(name),
} as const

const place = jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
})
const weather = tool({
  description: 'Reports the weather.',
  inputSchema: place,
  execute: ({ city }) => Promise.resolve(`clear over ${city}`),
})

/** How each SDK reports that an answer broke off: OpenAI's own chunks have no errors. */
const BROKEN = { '@ai-sdk/openai': 'other', '@openrouter/ai-sdk-provider': 'error' } as const

for (const [name, modelOf] of Object.entries(MODELS)) {
  const finish = BROKEN[name as keyof typeof BROKEN]

  test(`${name}: returns text, whole and streamed`, async () => {
    await using portico = await openPortico()
    const request = { model: modelOf(portico), system: 'Be brief.', prompt: '/length 3' }
    const whole = await generateText(request)
    assert.deepEqual([whole.text, whole.finishReason, whole.usage.totalTokens], ['the quick brown', 'stop', 7])
    const streamed = streamText(request)
    assert.equal(await streamed.text, 'the quick brown')
    assert.equal((await streamed.usage).totalTokens, 7)
  })

  test(`${name}: runs a tool between two steps, whole and streamed`, async () => {
    await using portico = await openPortico()
    const request = {
      model: modelOf(portico),
      prompt: '/reasoning hm\n/tool weather {"city":"Rome"}',
      tools: { weather },
      stopWhen: isStepCount(3),
    }
    const text = 'weather returned:\nclear over Rome'
    assert.equal((await generateText(request)).text, text)
    const streamed = streamText(request)
    assert.equal(await streamed.text, text)
    assert.equal((await streamed.steps).length, 2)
  })

  test(`${name}: returns an object in the form of a schema`, async () => {
    await using portico = await openPortico()
    const request = { model: modelOf(portico), prompt: '{"city":"Rome"}', output: Output.object({ schema: place }) }
    assert.deepEqual((await generateText(request)).output, { city: 'Rome' })
  })

  test(`${name}: reports errors before the first byte and in the middle`, async () => {
    await using portico = await openPortico()
    const model = modelOf(portico)
    await assert.rejects(generateText({ model, prompt: '/fail 400', maxRetries: 0 }), (error) => {
      assert.ok(APICallError.isInstance(error))
      assert.equal(error.statusCode, 400)
      assert.match(error.message, /portico refused the request: The prompt requested status 400/)
      return true
    })
    const prompt = '/fail 500 after 2\n/length 5'
    const { text, finishReason } = streamText({ model, prompt, maxRetries: 0, onError: () => {} })
    assert.equal(await text, 'the quick ')
    assert.equal(await finishReason, finish)
  })

  test(`${name}: an abort ends the stream`, async () => {
    await using portico = await openPortico()
    const controller = new AbortController()
    const prompt = '/slow 20\n/length 1000'
    const { stream } = streamText({ model: modelOf(portico), prompt, abortSignal: controller.signal })
    for await (const part of stream) if (part.type === 'text-delta') controller.abort()
    await waitFor('the stream to end', () => portico.listener.lifecycle.openStreams === 0)
  })
}

test('@openrouter/ai-sdk-provider: thoughts come with their details', async () => {
  await using portico = await openPortico()
  const model = MODELS['@openrouter/ai-sdk-provider'](portico)
  const request = { model, prompt: '/reasoning so be it\n/length 1' }
  const details = [{ type: 'reasoning.text', text: 'so be it', index: 0 }]
  const whole = await generateText(request)
  assert.equal(whole.reasoningText, 'so be it')
  assert.deepEqual(whole.providerMetadata?.openrouter?.reasoning_details, details)
  const streamed = streamText(request)
  assert.equal(await streamed.reasoningText, 'so be it')
  const { openrouter } = JSON.parse(JSON.stringify(await streamed.providerMetadata))
  assert.deepEqual(openrouter.reasoning_details, details)
})

for (const [name, modelOf] of Object.entries(MODELS)) {
  test(`${name}: pictures, files, sound and settings reach a provider as they are`, async () => {
    const completion = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }
    await using stub = await startStub(answers(200, completion))
    await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) })
    const { text } = await generateText({
      model: modelOf(portico, 'openai/gpt-5.5'),
      temperature: 0.5,
      seed: 3,
      stopSequences: ['a'],
      maxOutputTokens: 5,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'file', data: new Uint8Array([0, 1]), mediaType: 'image/png' },
            { type: 'file', data: new Uint8Array([37, 80]), mediaType: 'application/pdf', filename: 'a.pdf' },
            { type: 'file', data: 'AAAA', mediaType: 'audio/wav' },
          ],
        },
      ],
    })
    assert.equal(text, 'Hi')
    const content = [
      { type: 'text', text: 'x' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAE=' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVA=' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    ]
    assert.deepEqual(stub.seen[0]?.body, {
      model: 'gpt-5.5',
      messages: [{ role: 'user', content }],
      stream: false,
      max_completion_tokens: 5,
      temperature: 0.5,
      seed: 3,
      stop: ['a'],
    })
  })
}
