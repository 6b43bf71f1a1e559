import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import fc from 'fast-check'
import type { ResponsesDialect } from '#gateway/generation/responses-dialect.ts'
import { FinishReason, type PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { wholeOf } from '#test/support/generation.ts'
import { createResponseBody } from '../body.ts'
import { requestEcho } from '../echo.ts'
import { responseEvent } from '../events.ts'
import { fromGeneration } from '../from-generation.ts'
import { ResponsesFold } from './fold.ts'
import { ResponsesFrames } from './frames.ts'

type Init = NonNullable<MessageInitShape<typeof GenerationEventSchema>['event']>
type Whole = NonNullable<MessageInitShape<typeof PartSchema>['part']>
type Json = Record<string, unknown>

const echo = requestEcho(createResponseBody.parse({ model: 'a/b', input: 'x' }))
const event = (init: Init): GenerationEvent => create(GenerationEventSchema, { event: init })
const kinds = fc.constantFrom(Kind.TEXT, Kind.REFUSAL, Kind.REASONING, Kind.REASONING_SUMMARY, Kind.TOOL_CALL)

/** One part of a generation: its events, in order; it may break off. */
const part = fc.record({
  kind: kinds,
  words: fc.array(fc.string({ maxLength: 5 }), { maxLength: 4 }),
  ends: fc.boolean(),
})
type GeneratedPart = typeof part extends fc.Arbitrary<infer T> ? T : never

function partOf({ kind, words }: GeneratedPart, index: number): Whole {
  const text = words.join('')
  if (kind === Kind.TEXT) return { case: 'text', value: { text } }
  if (kind === Kind.REFUSAL) return { case: 'refusal', value: { text } }
  if (kind === Kind.REASONING) return { case: 'reasoning', value: { text, signature: 's' } }
  if (kind === Kind.REASONING_SUMMARY) return { case: 'reasoning', value: { summary: text } }
  return { case: 'toolCall', value: { callId: `c${index}`, name: 'f', arguments: text } }
}

/** The events of all parts in turns; parts begin in the order of their numbers. */
function interleave(parts: readonly GeneratedPart[], picks: readonly number[]): GenerationEvent[] {
  const queues = parts.map((one, index) => [
    event({ case: 'partStarted', value: { index, kind: one.kind, toolCall: { callId: `c${index}`, name: 'f' } } }),
    ...one.words.map((text) => event({ case: 'partExtended', value: { index, text } })),
    ...(one.ends ? [event({ case: 'partEnded', value: { index, part: { part: partOf(one, index) } } })] : []),
  ])
  const events: GenerationEvent[] = []
  let begun = 0
  for (let turn = 0; queues.some((queue) => queue.length > 0); turn++) {
    const candidates = queues.slice(0, begun + 1).filter((queue) => queue.length > 0)
    const queue = candidates[(picks[turn % picks.length] ?? 0) % candidates.length] as GenerationEvent[]
    if (queue === queues[begun]) begun++
    events.push(queue.shift() as GenerationEvent)
  }
  return events
}

const endings = fc.constantFrom(FinishReason.STOP, FinishReason.LENGTH, 'failed' as const)
const dialects = fc.constantFrom<ResponsesDialect>('both', 'openai', 'specification')

test('each item is done before the next is added, whatever a provider interleaves, and the response holds what was streamed', () => {
  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), picks, endings, dialects, (parts, order, ending, dialect) => {
      const seed = { id: `resp_${'x'.repeat(24)}`, createdAt: 1_700_000_000, model: 'a/b', echo }
      const frames = new ResponsesFrames(dialect)
      const fold = new ResponsesFold(seed, frames, () => 1_700_000_001)
      const begun = event({ case: 'started', value: { model: 'a/b', providerId: 'a' } })
      const finished = event({ case: 'finished', value: { reason: ending === 'failed' ? 0 : ending, costNanos: 0n } })
      const grown = interleave(parts, order)
      for (const one of [begun, ...grown]) fold.add([one])
      if (ending === 'failed') fold.fail({ code: 'server_error', message: 'm', errorType: 'server' })
      else fold.add([finished])
      const lines = frames
        .take()
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
      const events: Json[] = lines.map((line) => JSON.parse(line.slice(6)))
      for (const one of events) responseEvent.parse(one)
      if (dialect !== 'specification') {
        assert.deepEqual(
          events.map(({ sequence_number }) => sequence_number),
          events.map((_, i) => i),
        )
      }
      const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
      const { response } = events.at(-1) as { response: Json }
      if (dialect !== 'specification') assert.deepEqual(response.output, done)
      checkOrder(events, done as Json[], parts)
      if (dialect === 'specification' || ending === 'failed' || !parts.every(({ ends }) => ends)) return
      const whole = fromGeneration(seed, wholeOf([begun, ...grown, finished]), 1_700_000_001)
      assert.deepEqual(JSON.parse(JSON.stringify(whole)), response)
    }),
    { numRuns: 1_000 },
  )
})

function checkOrder(events: readonly Json[], output: readonly Json[], parts: readonly GeneratedPart[]): void {
  assert.equal(output.length, parts.length)
  const done: unknown[] = []
  let open: number | undefined
  for (const { type, output_index: index, item } of events) {
    if (type === 'response.output_item.added') {
      assert.equal(open, undefined, 'the one before is done')
      assert.equal(index, done.length)
      open = index as number
    } else if (index !== undefined) {
      assert.equal(index, open, `${type} belongs to the item that was added last`)
      if (type !== 'response.output_item.done') continue
      done.push(item)
      open = undefined
    }
  }
  assert.deepEqual(done, output)
  for (const [i, { words }] of parts.entries()) {
    const {
      content,
      summary,
      arguments: text,
    } = output[i] as { content?: Json[]; summary?: Json[]; arguments?: string }
    const said = text ?? [...(content ?? []), ...(summary ?? [])].map((one) => one.text ?? one.refusal ?? '').join('')
    assert.equal(said, words.join(''))
  }
}
