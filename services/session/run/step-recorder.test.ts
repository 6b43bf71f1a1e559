import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assistant, toolPart } from '#test/contract/session-store.support.ts'
import type { MessageOf } from '../domain/message.ts'
import type { StepRecord } from '../domain/run.ts'
import { NO_TOKENS } from '../domain/session.ts'
import type { RunContext } from './run-context.ts'
import { StepRecorder } from './step-recorder.ts'

const DONE = { error: undefined, content: [], metadata: undefined }

/** A recorder of a step whose three calls run, and its writes; the first one is answered with the given promise. */
function recording(first: Promise<number>) {
  const writes: { readonly before: MessageOf<'assistant'> | undefined; readonly record: StepRecord }[] = []
  const recordStep = async (before: MessageOf<'assistant'> | undefined, record: StepRecord): Promise<number> => {
    writes.push({ before, record })
    return writes.length === 1 ? first : writes.length
  }
  const run = { owned: { recordStep }, hub: { mark: () => 0 }, clock: { now: () => 1 } }
  const parts = ['a', 'b', 'c'].map((id) => toolPart(id, 'running'))
  const step = assistant('msg_1', { parts, costNanos: 7n, tokens: NO_TOKENS, finish: 'tool-calls' })
  return { recorder: new StepRecorder(run as unknown as RunContext, step, step), writes }
}

function eventsOf({ record }: { readonly record: StepRecord }): unknown[] {
  return record.events.map((event) => (event.case === 'toolSucceeded' ? event.value.callId : event.case))
}

test('calls that end while a write runs are written together once it has ended, the last ones with the end of the step', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const { recorder, writes } = recording(promise)
  const first = recorder.settle('a', DONE)
  await Promise.resolve()
  const others = [recorder.settle('b', DONE), recorder.settle('c', DONE)]
  await new Promise((done) => setImmediate(done))
  assert.deepEqual(writes.map(eventsOf), [['a']])
  resolve(1)
  await Promise.all([first, ...others])
  assert.deepEqual(writes.map(eventsOf), [['a'], ['b', 'c', 'stepEnded']])
  const [one, both] = writes
  assert.equal(both?.before, one?.record.message)
  assert.deepEqual([one?.record.usage, both?.record.usage?.costNanos], [undefined, 7n])
})

test('a failed write fails every call that it was to record, and none after it', async () => {
  const { recorder, writes } = recording(Promise.reject(new Error('lost')))
  const both = [recorder.settle('a', DONE), recorder.settle('b', DONE)]
  const outcomes = await Promise.allSettled(both)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await recorder.settle('c', DONE)
  assert.deepEqual(writes.map(eventsOf), [
    ['a', 'b'],
    ['c', 'stepEnded'],
  ])
  assert.equal(writes[1]?.record.usage?.costNanos, 7n)
})
