import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Compaction_Status, type Message, AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import { TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import { stepPart } from '#test/support/step-part.ts'
import { textResult } from '../generation/call-outcome.ts'
import { CONTEXT_OVERFLOW } from '../generation/step-errors.ts'
import { type ContentOf, type MessageOf, messageOf, withChanges } from '../message.ts'
import { structuredError } from '../structured-error.ts'
import { coveredBy } from './coverage.ts'
import { newestHalf, recentOf } from './recent.ts'
import { hasGoneOn, isFull, tokensOf } from './request-size.ts'
import { notKept, toSummarize } from './to-summarize.ts'
import { beginningOf, bytesIn } from './turn-text.ts'

const model = create(ModelRefSchema, { providerId: 'test', modelId: 'm' })
const head = { messageId: 'msg_x', createTime: 0 }

function user(text: string): Message {
  return messageOf(head, 'user', { text })
}

function step(text: string, changes: Partial<ContentOf<'assistant'>> = {}): MessageOf<'assistant'> {
  const ended = { finish: 'stop', costNanos: 0n, streamTime: 1, completeTime: 2 }
  const begun = messageOf(head, 'assistant', { agent: 'build', model, parts: [stepPart('text', { text })], attempt: 1 })
  return withChanges(begun, { ...ended, ...changes })
}

function called(result: string): MessageOf<'assistant'> {
  const call = { callId: 'c', name: 'look', state: State.COMPLETED, rawInput: '{}', input: {} }
  return step('', { parts: [stepPart('tool', { ...call, content: [textResult(result)] })] })
}

const summary = (text: string, recent = '') =>
  messageOf(head, 'compaction', { status: Compaction_Status.COMPLETED, summary: text, recent })
const switched = messageOf(head, 'modelSwitched', { model })
const overflowed = step('', { error: structuredError(CONTEXT_OVERFLOW, 'no'), parts: [], streamTime: undefined })
const UNKNOWN = { bytes: Infinity, contextLength: undefined }

test('the text kept beside a summary has at most 24,000 bytes, and fits a quarter of the context even if it is dense', () => {
  for (const letter of ['x ', 'word ', '字', '😀']) {
    const turns = Array.from({ length: 50 }, (_, n) => [user(letter.repeat(300)), step(`${n} ${letter}`)]).flat()
    const small = recentOf(turns, { ...UNKNOWN, contextLength: 2_000 })
    assert.ok(small.length > 0 && bytesIn(small.replaceAll('\n\n', '')) <= 1_500, letter)
    assert.ok(small.isWellFormed())
    assert.ok(bytesIn(recentOf(turns, UNKNOWN).replaceAll('\n\n', '')) <= 24_000)
  }
})

test('the newest turns stay in order, a call with its result, the last input in any case', () => {
  const turns = [user('First'), step('Old '.repeat(100)), user('Last'), called('r'.repeat(5_000)), step('End')]
  const recent = recentOf(turns, { bytes: 2_000, contextLength: undefined })
  assert.match(recent, /^user: Last\n\nassistant: \(calls look with {}; result: r+ \[…\]\)\n\nassistant: End$/)
  assert.equal(recentOf(turns, { bytes: 100, contextLength: undefined }), 'user: Last\n\nassistant: End')
  assert.equal(recentOf([], UNKNOWN), '')
})

test('half of the kept text consists of whole turns, and in the end of none', () => {
  const all = 'user: a\n\nb\n\nassistant: c\n\nuser: d'
  assert.equal(newestHalf(all), 'user: d')
  assert.equal(newestHalf('user: a\n\nassistant: (calls look; result: 1\n\n2)'), '')
})

test('an excerpt has at most as many bytes as requested, and no half characters', () => {
  for (let most = 6; most < 20; most++) {
    const text = beginningOf('a字😀'.repeat(10), most)
    assert.ok(bytesIn(text) <= most && text.isWellFormed() && text.endsWith(' […]'), `${most} ${text}`)
  }
  assert.equal(beginningOf('字字', 6), '字字')
})

test('the turns that are not kept are summarized, and where room is short the first input outlives the oldest turns', () => {
  const turns = [user('Task'), step('One '.repeat(50)), step('Two '.repeat(50)), step('Three')]
  const covered = { summary: undefined, turns: notKept(turns, 'assistant: Three') }
  const text = toSummarize(covered, 10_000)
  assert.match(text, /^user: Task\n\nassistant: One .*\n\nassistant: Two (Two ?)+$/)
  const short = toSummarize(covered, 260)
  assert.match(short, /^user: Task\n\n\(1 older turn is left out\.\)\n\nassistant: Two /)
  assert.equal(notKept(turns.slice(0, 1), 'user: Task').length, 1, 'all of it, where all of it stays')
  assert.match(
    toSummarize({ ...covered, summary: summary('S', 'user: R').kind.value }, 260),
    /^summary of .* S\n\nuser: R\n\n/,
  )
})

test('a compaction covers what is shown, except the open input and steps that came to nothing', () => {
  const [old, answer, open, last] = [user('a'), step('b'), user('c'), summary('S')] as const
  assert.deepEqual(coveredBy([old, answer, open, overflowed], true), { summary: undefined, turns: [old, answer] })
  assert.deepEqual(coveredBy([old, answer, open, last], true), { summary: last.kind.value, turns: [] })
  assert.deepEqual(coveredBy([old, answer, open, last, answer], true).turns, [open, answer])
  assert.deepEqual(coveredBy([], false), { summary: undefined, turns: [] })
})

test('a request has as many tokens as the last step of the model used, plus one for three bytes of what came since', () => {
  const tokens = create(TokenUsageSchema, { input: 100, output: 10, reasoning: 5, cacheRead: 20, cacheWrite: 1 })
  const measured = step('b', { tokens })
  assert.equal(tokensOf([user('x'.repeat(900)), measured, user('字'.repeat(98))], model), 131 + 100)
  assert.equal(tokensOf([measured, user('a')], { ...model, modelId: 'other' }), 4 + 3)
  const before = [user('a'), measured]
  assert.equal(isFull([...before, user('b')], { model, contextLength: 160 }, 80), true)
  assert.equal(isFull([...before, user('b')], { model, contextLength: 170 }, 80), false)
  assert.equal(isFull([user('x'.repeat(900))], { model, contextLength: 10 }, 80), false, 'nothing to summarize')
  assert.equal(isFull([summary('x'.repeat(900))], { model, contextLength: 10 }, 80), false, 'nothing was answered')
  assert.equal(isFull([...before, user('b')], { model, contextLength: undefined }, 80), false)
})

test('another compaction may help after an answer, an input or another model, and not after steps that did not fit', () => {
  assert.equal(hasGoneOn([user('a'), overflowed]), true)
  assert.equal(hasGoneOn([user('a'), summary('S'), overflowed]), false)
  for (const more of [user('b'), step('c'), switched]) assert.equal(hasGoneOn([summary('S'), overflowed, more]), true)
})
