import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { eventsOf, type FlatEvent, part, type RequestInit } from '#test/support/generation.ts'
import { EchoProvider } from './provider.ts'

const asked = (text: string, request: RequestInit = {}) =>
  eventsOf(new EchoProvider('portico'), {
    messages: [{ role: Role.USER, parts: [part('text', { text })] }],
    ...request,
  })

const partsOf = (events: readonly FlatEvent[]) =>
  events.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))

const sampling = {
  ...{ temperature: undefined, topP: undefined, topK: undefined, frequencyPenalty: undefined },
  ...{ presencePenalty: undefined, seed: undefined, stop: [] },
}

test('a stop text ends the answer before it, and is named', async () => {
  const events = await asked('/length 6', { sampling: { ...sampling, stop: ['jumps', 'fox'] }, serviceTier: 'flex' })
  assert.deepEqual(partsOf(events), [{ case: 'text', text: 'the quick brown ' }])
  const end = { case: 'finished', reason: FinishReason.STOP, rawReason: 'stop', stopText: 'fox', serviceTier: 'flex' }
  assert.deepEqual(events.at(-1), end)
})

test('each word has a log probability when they are requested', async () => {
  const events = await asked('/length 2', { sampling: { ...sampling, topLogProbabilities: 2 } })
  const tokens = events.flatMap((event) => (event.case === 'partExtended' ? (event.logProbabilities ?? []) : []))
  assert.deepEqual(
    tokens.map(({ token, alternatives }) => [token, alternatives.map((other) => other.token)]),
    [
      ['the ', ['the ', 'the']],
      ['quick', ['quick', 'the']],
    ],
  )
})

test('a custom tool is called with any text, one of a namespace by its namespace', async () => {
  const tools = [
    { name: 'patch', custom: {} },
    { name: 'list', namespace: { name: 'files' } },
  ]
  const parts = partsOf(await asked('/tool patch *** Begin Patch\n/tool list', { tools }))
  assert.deepEqual(
    parts.map((part) => part.case === 'toolCall' && [part.name, part.arguments, part.custom, part.namespace]),
    [
      ['patch', '*** Begin Patch', true, undefined],
      ['list', '{}', undefined, 'files'],
    ],
  )
})
