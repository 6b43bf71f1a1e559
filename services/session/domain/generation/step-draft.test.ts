import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { StepRetrySchema } from '#gen/portico/session/v1/message_pb.js'
import { plain } from '#test/contract/session-store.support.ts'
import { extended, finished, sent, started } from '#test/support/session-turns.ts'
import { withChanges } from '../message.ts'
import { structuredError } from '../structured-error.ts'
import { newStep } from './draft-part.ts'
import { StepDraft } from './step-draft.ts'

const AWAY = structuredError('provider.unavailable', 'away')
const part = { part: { case: 'toolCall', value: { callId: 'call_1', name: 'look', arguments: '{}' } } } as const
const ANSWER = [
  started(0, Kind.TEXT),
  extended(0, 'Hi'),
  started(1, Kind.TOOL_CALL, 'call_1', 'look'),
  { event: { case: 'partEnded', value: { index: 1, part } } } as const,
  finished(FinishReason.STOP),
].map(sent)

function begun(): StepDraft {
  return new StepDraft(
    newStep('msg_1', 'build', create(ModelRefSchema, { providerId: 'test', modelId: 'model' }), 1),
    3,
  )
}

test('the next attempt begins with a fresh step, wherever the one before broke off', () => {
  for (let count = 0; count <= ANSWER.length; count++) {
    const draft = begun()
    for (const event of ANSWER.slice(0, count)) draft.follow(event, 2)
    draft.retry(1, 3, AWAY)
    const retry = create(StepRetrySchema, { attempt: 1, startTime: 3, error: AWAY })
    assert.deepEqual(draft.message, withChanges(begun().message, { attempt: 2, retry }))
    assert.deepEqual([draft.finished, draft.usage, draft.runningCalls], [false, undefined, []])
    for (const event of ANSWER) draft.follow(event, 4)
    const whole = begun()
    for (const event of ANSWER) whole.follow(event, 4)
    assert.deepEqual(plain(draft.message), plain(withChanges(whole.message, { attempt: 2 })))
  }
})
