import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import { eventsOf } from '#test/support/generation.ts'
import { EchoProvider } from './provider.ts'

const asked = (text: string, request: Partial<GenerationRequest> = {}) =>
  eventsOf(new EchoProvider('portico'), { messages: [{ role: 'user', parts: [{ type: 'text', text }] }], ...request })

const partsOf = (events: readonly GenerationEvent[]) =>
  events.flatMap((event) => (event.type === 'part-ended' ? [event.part] : []))

const sampling = {
  ...{ temperature: undefined, topP: undefined, topK: undefined, frequencyPenalty: undefined },
  ...{ presencePenalty: undefined, seed: undefined, stop: [] },
}

test('a stop text ends the answer before it, and is named', async () => {
  const events = await asked('/length 6', { sampling: { ...sampling, stop: ['jumps', 'fox'] }, serviceTier: 'flex' })
  assert.deepEqual(partsOf(events), [{ type: 'text', text: 'the quick brown ' }])
  const end = { type: 'finished', reason: 'stop', rawReason: 'stop', stopText: 'fox', serviceTier: 'flex' }
  assert.deepEqual(events.at(-1), end)
})

test('each word has a log probability when they are requested', async () => {
  const events = await asked('/length 2', { sampling: { ...sampling, topLogProbabilities: 2 } })
  const tokens = events.flatMap((event) => (event.type === 'part-extended' ? (event.logProbabilities ?? []) : []))
  assert.deepEqual(
    tokens.map(({ token, alternatives }) => [token, alternatives.map((other) => other.token)]),
    [
      ['the ', ['the ', 'the']],
      ['quick', ['quick', 'the']],
    ],
  )
})

test('lines of a prompt make items, sources, refusals, pictures and proofs', async () => {
  const item = { type: 'web_search_call', id: 'ws_1' }
  const events = await asked(
    `/item openai-responses-v1 ${JSON.stringify(item)}\n/source https://x.test/a A lease\n/reasoning hm\n/proof sig\n/image\n/length 1`,
  )
  assert.deepEqual(
    partsOf(events).map((part) => (part.type === 'image' ? part.type : part)),
    [
      { type: 'foreign', format: 'openai-responses-v1', item },
      { type: 'reasoning', text: 'hm', signature: 'sig', format: 'portico-echo-v1' },
      { type: 'text', text: 'the' },
      'image',
    ],
  )
  const source = events.find((event) => event.type === 'source')?.source
  assert.deepEqual([source?.partIndex, source?.url, source?.title], [2, 'https://x.test/a', 'A lease'])
  assert.deepEqual(partsOf(await asked('/refusal I will not')), [{ type: 'refusal', text: 'I will not' }])
})

test('a custom tool is called with any text, one of a namespace by its namespace', async () => {
  const tools = [
    { name: 'patch', parameters: undefined, strict: undefined, custom: { syntax: undefined, grammar: undefined } },
    {
      ...{ name: 'list', parameters: undefined, strict: undefined },
      namespace: { name: 'files', description: undefined },
    },
  ]
  const parts = partsOf(await asked('/tool patch *** Begin Patch\n/tool list', { tools }))
  assert.deepEqual(
    parts.map((part) => part.type === 'tool-call' && [part.name, part.arguments, part.custom, part.namespace]),
    [
      ['patch', '*** Begin Patch', true, undefined],
      ['list', '{}', undefined, 'files'],
    ],
  )
})

test('/settings returns the settings of a request', async () => {
  const [part] = partsOf(await asked('/settings', { sampling: { ...sampling, temperature: 0.5, seed: 7n } }))
  assert.deepEqual(JSON.parse(part?.type === 'text' ? part.text : '').sampling, { temperature: 0.5, seed: 7, stop: [] })
})
