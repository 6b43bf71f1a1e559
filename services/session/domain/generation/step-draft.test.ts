import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newStep } from './draft-part.ts'
import type { GenerationEvent } from './generation.ts'
import { StepDraft } from './step-draft.ts'

const AWAY = { type: 'provider.unavailable', message: 'away' }
const TOKENS = { input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5 }
const ANSWER: readonly GenerationEvent[] = [
  { type: 'part-started', index: 0, kind: 'text', callId: '', toolName: '' },
  { type: 'part-extended', index: 0, text: 'Hi' },
  { type: 'part-started', index: 1, kind: 'tool-call', callId: 'call_1', toolName: 'look' },
  { type: 'part-ended', index: 1, text: '{}', thought: undefined },
  { type: 'finished', finish: 'stop', rawFinish: 'raw', tokens: TOKENS, costNanos: 7n },
]

function begun(): StepDraft {
  return new StepDraft(newStep('msg_1', 'build', { providerId: 'test', modelId: 'model', variant: '' }, 1), 3)
}

test('whatever an attempt has left, the next one begins with a fresh step', () => {
  for (let count = 0; count <= ANSWER.length; count++) {
    const draft = begun()
    for (const event of ANSWER.slice(0, count)) draft.follow(event, 2)
    draft.retry(1, 3, AWAY)
    assert.deepEqual(draft.message, { ...begun().message, attempt: 2, retry: { attempt: 1, at: 3, error: AWAY } })
    assert.deepEqual([draft.finished, draft.usage, draft.runningCalls], [false, undefined, []])
    for (const event of ANSWER) draft.follow(event, 4)
    const whole = begun()
    for (const event of ANSWER) whole.follow(event, 4)
    assert.deepEqual(draft.message, { ...whole.message, attempt: 2 })
  }
})
