import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Part, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type AssistantPart,
  Compaction_Status,
  type Message,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { part } from '#test/support/generation.ts'
import { type CallInit, stepPart } from '#test/support/step-part.ts'
import { type ContentOf, type MessageOf, messageOf, withChanges } from '../message.ts'
import { nextAction, stepsSinceInput } from '../next-action.ts'
import { structuredError } from '../structured-error.ts'
import { textResult } from './call-outcome.ts'
import { modelMessages as modelMessagesWith } from './model-messages.ts'
import { CONTEXT_OVERFLOW, STEP_ABORTED } from './step-errors.ts'

const model = create(ModelRefSchema, { providerId: 'test', modelId: 'm' })

function user(text: string): Message {
  return messageOf({ messageId: `msg_${text}`, createTime: 0 }, 'user', { text })
}

function step(changes: Partial<ContentOf<'assistant'>> = {}): MessageOf<'assistant'> {
  const begun = { agent: 'build', model, parts: [stepPart('text', { text: 'Hi' })], attempt: 1 }
  const ended = { finish: 'stop', costNanos: 0n, streamTime: 1, completeTime: 2 }
  const head = { messageId: 'msg_a', createTime: 0 }
  return withChanges(messageOf(head, 'assistant', { ...begun, ...ended }), changes)
}

/** A compaction. */
function summed(messageId: string, content: Parameters<typeof messageOf<'compaction'>>[2]): MessageOf<'compaction'> {
  return messageOf({ messageId, createTime: 0 }, 'compaction', content)
}

function call(type: string | undefined, changes: CallInit = {}): AssistantPart {
  return stepPart('tool', {
    ...{ callId: 'c', name: 'look', state: type === undefined ? State.COMPLETED : State.ERROR },
    ...{ rawInput: '{"a":1}', input: { a: 1 } },
    error: type === undefined ? undefined : structuredError(type, 'no'),
    ...changes,
  })
}

const WORDS: Readonly<Record<Role, string>> = ['', 'system', 'user', 'assistant', 'tool']
const wordsOf = (part: Part | undefined) => (part?.part.case === 'text' ? part.part.value.text : '')

const modelMessages = (conversation: readonly Message[]) =>
  modelMessagesWith(conversation, model, new Map([['h', Uint8Array.of(1)]]))

/** What a model is shown in words. */
const texts = (conversation: readonly Message[]) =>
  modelMessages(conversation).map(({ role, parts: [part] }) => [WORDS[role], wordsOf(part)])

const aborted = step({ error: STEP_ABORTED, streamTime: undefined, finish: 'error' })
const idle = messageOf({ messageId: 'msg_i', createTime: 0 }, 'idle', { outcome: Outcome.SUCCEEDED })
const outcome = (...conversation: Message[]) => {
  const next = nextAction(conversation)
  return next.type === 'end' ? next.outcome : next.type
}

test('a step follows a user, results of tools, and a step that was cut off', () => {
  assert.equal(outcome(user('a')), 'step')
  assert.equal(outcome(user('a'), step(), idle, user('b')), 'step')
  assert.equal(outcome(user('a'), step({ parts: [call(undefined)] })), 'step')
  assert.equal(outcome(user('a'), step({ parts: [call('tool.timeout')] })), 'step')
  assert.equal(outcome(user('a'), aborted), 'step')
})

test('the run ends after an answer, a failure, and a rejection without a message', () => {
  assert.equal(outcome(user('a'), step()), Outcome.SUCCEEDED)
  const error = structuredError('provider.refused', 'no')
  assert.deepEqual(nextAction([user('a'), step({ error })]), { type: 'end', outcome: Outcome.FAILED, error })
  assert.equal(outcome(user('a'), step({ parts: [call(undefined), call('permission.rejected')] })), Outcome.INTERRUPTED)
  assert.equal(outcome(user('a'), step({ parts: [call('permission.corrected')] })), 'step')
  const both = [call('permission.rejected'), call('permission.corrected')]
  assert.equal(outcome(user('a'), step({ parts: both })), Outcome.INTERRUPTED)
})

test('a run that begins without an input goes on with what an ended one left', () => {
  const error = structuredError('provider.refused', 'no')
  assert.equal(outcome(user('a'), idle), 'step')
  assert.equal(outcome(user('a'), aborted, idle), 'step')
  assert.equal(outcome(user('a'), step({ error }), idle), 'step')
  assert.equal(outcome(user('a'), step({ parts: [call('permission.rejected')] }), idle), 'step')
  assert.equal(
    outcome(user('a'), step({ error }), idle, step({ error })),
    Outcome.FAILED,
    'it fails by what it does itself',
  )
  assert.equal(outcome(user('a'), step(), idle), Outcome.SUCCEEDED)
  assert.equal(outcome(idle), Outcome.SUCCEEDED)
  assert.equal(outcome(), Outcome.SUCCEEDED)
})

test('a step at the end that failed before its tools is left out, since it is repeated', () => {
  const error = structuredError('provider.unavailable', 'no')
  const roles = (...conversation: Message[]) => modelMessages(conversation).map(({ role }) => WORDS[role])
  assert.deepEqual(roles(user('a'), step({ error, streamTime: undefined }), idle), ['user'])
  assert.deepEqual(roles(user('a'), step({ error }), idle), ['user'])
  assert.deepEqual(roles(user('a'), step({ error, parts: [call('aborted')] }), idle), ['user', 'assistant', 'tool'])
})

test('a synthetic text is input', () => {
  const added = messageOf({ messageId: 'msg_s', createTime: 0 }, 'synthetic', { text: 'Built' })
  assert.equal(outcome(user('a'), step(), idle, added), 'step')
  assert.equal(stepsSinceInput([user('a'), step(), added, step()]), 1)
  assert.deepEqual(texts([added]), [['user', 'Built']])
})

test('instructions, skills and commands of users are shown unchanged; messages meant for people are not', () => {
  const head = { messageId: 'msg_x', createTime: 0 }
  const output = { output: 'a.txt\n', cursor: 6, size: 6 }
  const conversation: Message[] = [
    messageOf(head, 'system', { text: 'Be brief', description: 'For people' }),
    messageOf(head, 'system', {}),
    messageOf(head, 'skill', { text: 'Clean up' }),
    messageOf(head, 'shell', { command: 'ls', output }),
    messageOf(head, 'shell', { command: 'true' }),
    messageOf(head, 'agentSwitched', { agent: 'plan' }),
    idle,
    user('a'),
  ]
  assert.deepEqual(texts(conversation), [
    ['system', 'Be brief'],
    ['user', 'Clean up'],
    ['user', 'Shell command: ls\n\na.txt\n'],
    ['user', 'Shell command: true\n\n'],
    ['user', 'a'],
  ])
})

test('the last summary is shown instead of the messages before it', () => {
  const compaction = (changes: Partial<ContentOf<'compaction'>>) =>
    withChanges(summed('msg_c', { status: Compaction_Status.COMPLETED, summary: 'All' }), changes)
  const failed = compaction({ status: Compaction_Status.FAILED })
  // What only its provider could go on with stands for nothing.
  const native = compaction({ summary: '', providerContext: { messages: [] } })
  const said = texts([
    user('a'),
    compaction({ summary: 'Old' }),
    user('b'),
    step(),
    compaction({}),
    user('c'),
    failed,
    native,
  ])
  assert.deepEqual(
    said.map(([role]) => role),
    ['user', 'user'],
  )
  assert.match(said[0]?.[1] ?? '', /<summary>\nAll\n<\/summary>$/)
  assert.equal(said[1]?.[1], 'c')
  assert.match(texts([compaction({ recent: 'user: b' })])[0]?.[1] ?? '', /<recent>\nuser: b\n<\/recent>$/)
  assert.deepEqual(texts([user('a'), failed, native, step()]).length, 2)
})

test('an input that was open when a summary was made is shown whole after it, but not one of an ended run after a requested summary', () => {
  const summary = (text: string, manual = false) =>
    summed(`msg_${text}`, { status: Compaction_Status.COMPLETED, manual, summary: text })
  const overflowed = step({ error: structuredError(CONTEXT_OVERFLOW, 'no'), parts: [], streamTime: undefined })
  const shown = (...conversation: Message[]) => texts(conversation).map(([, text = '']) => text.slice(0, 6))
  const [before, one, two] = [[user('a'), step(), idle, user('Open')], summary('One'), summary('Two')]
  assert.deepEqual(shown(...before, one), ['The co', 'Open'])
  assert.deepEqual(shown(...before, one, step(), idle, user('Next')), ['The co', 'Open', 'Hi', 'Next'])
  assert.deepEqual(shown(...before, overflowed, one, overflowed, two), ['The co', 'Open'])
  assert.deepEqual(shown(...before, overflowed, idle, overflowed, one), ['The co', 'Open'], 'a run went on with it')
  assert.deepEqual(shown(...before, step(), one), ['The co', 'Contin'])
  assert.deepEqual(shown(...before, overflowed, idle, one, user('Next')), ['The co', 'Open', 'Next'], 'it was resumed')
  assert.deepEqual(shown(...before, overflowed, idle, summary('M', true), user('Next')), ['The co', 'Next'])
  assert.deepEqual(shown(...before, overflowed, idle, one, idle, overflowed, two), ['The co', 'Contin'])
})

test('steps are counted from the last input, without those that were cut off', () => {
  assert.equal(stepsSinceInput([user('a'), step(), step(), user('b'), step(), aborted]), 1)
})

test('a step that was cut off at the end is left out; one in the middle is shown as far as it got', () => {
  const roles = (...conversation: Message[]) => modelMessages(conversation).map(({ role }) => WORDS[role])
  assert.deepEqual(roles(user('a'), aborted, aborted), ['user'])
  assert.deepEqual(roles(user('a'), aborted, idle, user('b')), ['user', 'assistant', 'user'])
})

test('every call has a result, whatever became of it, and arguments that are JSON', () => {
  const parts = [
    call(undefined, { callId: 'done', content: [textResult('seen')] }),
    call('tool.timeout', { callId: 'failed', content: [textResult('half')] }),
    call('aborted', { callId: 'cut', rawInput: '{"a":', input: {} }),
    call(undefined, { callId: 'running', state: State.RUNNING }),
  ]
  const [, asked, shown] = modelMessages([user('a'), step({ parts })])
  const sent = asked?.parts.map(({ part }) => part.case === 'toolCall' && [part.value.callId, part.value.arguments])
  assert.deepEqual(sent, [
    ['done', '{"a":1}'],
    ['failed', '{"a":1}'],
    ['cut', '{}'],
    ['running', '{"a":1}'],
  ])
  const results = shown?.parts.map(({ part }) => {
    return part.case === 'toolResult' && [part.value.callId, part.value.failed, part.value.content.map(wordsOf)]
  })
  assert.deepEqual(results, [
    ['done', false, ['seen']],
    ['failed', true, ['Error: no\n', 'half']],
    ['cut', true, ['Error: no']],
    ['running', true, ['Error: The tool call was cut off; what it has done is unknown']],
  ])
})

test('files and agents of a prompt are shown after its text', () => {
  const blob = { case: 'blob', value: { hash: 'h', size: 1 } } as const
  const file = { source: blob, mime: 'image/png', name: 'a.png' }
  const prompt = { text: 'See', files: [file], agents: [{ name: 'plan' }] }
  const [message] = modelMessages([messageOf({ messageId: 'msg_1', createTime: 0 }, 'user', prompt)])
  const source = { case: 'data', value: Uint8Array.of(1) } as const
  assert.deepEqual(message?.parts, [
    part('text', { text: 'See' }),
    part('image', { source, mime: 'image/png', name: 'a.png' }),
    part('text', { text: '(The user mentions the agent "plan": call it with the tool task.)' }),
  ])
})
