// Responses through the AI SDK's providers: OpenAI's, and that of Open Responses.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createOpenResponses } from '@ai-sdk/open-responses'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { waitFor } from '#test/support/wait-until.ts'

const id = 'portico/echo'
const apiKey = PORTICO_KEYS.api
const MODELS = {
  '@ai-sdk/openai': ({ url }: Portico, key = apiKey) =>
    createOpenAI({ apiKey: key, baseURL: `${url}/v1` }).responses(id),
  '@ai-sdk/open-responses': ({ url }: Portico, key = apiKey) =>
    createOpenResponses({ name: 'portico', apiKey: key, url: `${url}/v1/responses` })(id),
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

for (const [name, modelOf] of Object.entries(MODELS)) {
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
      providerOptions: { openai: { store: false } },
    }
    const text = 'weather returned:\nclear over Rome'
    assert.equal((await generateText(request)).text, text)
    const streamed = streamText(request)
    assert.equal(await streamed.text, text)
    assert.equal((await streamed.steps).length, 2)
  })

  test(`${name}: returns an object in the form of a schema`, async () => {
    await using portico = await openPortico()
    const output = Output.object({ schema: place })
    const { output: object } = await generateText({ model: modelOf(portico), prompt: '{"city":"Rome"}', output })
    assert.deepEqual(object, { city: 'Rome' })
  })

  test(`${name}: an error before the first byte has its status`, async () => {
    await using portico = await openPortico()
    const failed = (prompt: string, key = apiKey) =>
      generateText({ model: modelOf(portico, key), prompt, maxRetries: 0 })
    const statusOf = (status: number) => (error: unknown) =>
      APICallError.isInstance(error) && error.statusCode === status
    await assert.rejects(failed('/fail 429'), statusOf(429))
    await assert.rejects(failed('Hello', 'sk-portico-wrong'), statusOf(401))
  })

  test(`${name}: an answer that breaks off ends with an error`, async () => {
    await using portico = await openPortico()
    const { stream } = streamText({ model: modelOf(portico), prompt: '/fail 500 after 1\nHello', onError: () => {} })
    const parts = []
    for await (const part of stream) parts.push(part)
    const last = parts.at(-1)
    assert.ok(parts.some(({ type }) => type === 'error') || (last?.type === 'finish' && last.finishReason === 'error'))
  })

  test(`${name}: an abort ends the generation`, async () => {
    await using portico = await openPortico()
    const controller = new AbortController()
    const prompt = '/slow 20\n/length 1000'
    const { stream } = streamText({ model: modelOf(portico), prompt, abortSignal: controller.signal })
    for await (const part of stream) if (part.type === 'text-delta') controller.abort()
    await waitFor('the stream to end', () => portico.listener.lifecycle.openStreams === 0)
  })
}
