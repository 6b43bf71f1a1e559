import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import { type Compaction, Compaction_Status as Status } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { asKey, eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, fails, finished, hangingTool, hangs, says, text } from '#test/support/session-turns.ts'
import { waitFor } from '#test/support/wait-until.ts'

const sessionId = 'ses_1'
const overflows = fails('PROVIDER_REFUSED', { overflow: 'true', status: '400' })
const compact = ({ client }: SessionFixture, messageId: string, more: object = {}) =>
  client.compactSession({ sessionId, messageId, ...more }, asKey)

/** The conversation in short: ids of inputs, how compactions and runs ended, kinds of the rest. */
async function course(service: SessionFixture): Promise<string[]> {
  return (await service.messages()).map(({ messageId, kind }) => {
    if (kind.case === 'idle') return Outcome[kind.value.outcome].toLowerCase()
    if (kind.case === 'compaction') return Status[kind.value.status].toLowerCase()
    return kind.case === 'user' ? messageId : String(kind.case)
  })
}

async function compactions(service: SessionFixture): Promise<Compaction[]> {
  return (await service.messages()).flatMap(({ kind }) => (kind.case === 'compaction' ? [kind.value] : []))
}

/** What the model was shown by a request, the instructions apart. */
const shown = ({ peers }: SessionFixture, n: number): string[] =>
  (peers.requests.at(n)?.messages ?? [])
    .slice(1)
    .flatMap(({ parts }) => parts.map(({ part }) => (part.case === 'text' ? part.value.text : String(part.case))))

const about = (events: readonly SessionEvent[]): string[] =>
  events.map(({ event }) => String(event.case)).filter((kind) => /compaction|usage|execution|Delivered/.test(kind))

test('a requested compaction summarizes the conversation, is charged, and is what the next run reads', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers, client } = service
  peers.turns.push(calls({ id: 'a', name: 'look' }), text('It was seen.'), text('They looked.'), text('Well.'))
  await service.prompt('Look, please')
  await service.wait()
  const { events } = await eventsUntil(client, 'executionEnded')
  const { item } = await compact(service, 'msg_c')
  assert.deepEqual([item?.messageId, item?.payload.case, item?.delivery], ['msg_c', 'compaction', 1])
  const seen = await events
  await service.wait()
  assert.deepEqual(about(seen), [
    ...['executionStarted', 'inboxDelivered', 'compactionStarted', 'compactionExtended', 'compactionExtended'],
    ...['usageRecorded', 'compactionEnded', 'executionEnded'],
  ])
  const deltas = seen.flatMap(({ event }) => (event.case === 'compactionExtended' ? [event.value.delta] : []))
  assert.equal(deltas.join(''), 'They looked.')
  const [made] = await compactions(service)
  assert.deepEqual([made?.status, made?.manual, made?.summary], [Status.COMPLETED, true, 'They looked.'])
  assert.deepEqual([made?.costNanos, made?.tokens?.input, made?.model?.modelId], [7n, 8, 'model'])
  assert.match(made?.recent ?? '', /user: Look, please/)
  assert.deepEqual(await course(service), [
    ...['msg_1', 'assistant', 'assistant', 'succeeded', 'completed', 'succeeded'],
  ])
  const asked = peers.requests[2]
  assert.deepEqual([asked?.origin, asked?.tools.length], ['compaction', 0])
  assert.match(
    shown(service, 2)[0] ?? '',
    /user: Look, please\n\nassistant: \(calls look with {}; result: seen\)\n\nassistant: It was seen/,
  )
  const { session } = await client.getSession({ sessionId }, asKey)
  assert.equal(session?.costNanos, 21n)
  await service.prompt('And now?')
  await service.wait()
  const [summary = '', prompt, ...rest] = shown(service, 3)
  assert.match(summary, /<summary>\nThey looked\.\n<\/summary>/)
  assert.deepEqual([prompt, rest], ['And now?', []])
  assert.equal((await course(service)).length, 9, 'a page of messages shows everything')
})

test('one compaction waits in a session: another id returns it, its own id always does, and the id of something else is refused', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers, client } = service
  const tool = hangingTool()
  peers.tools.sleep = tool.script
  peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('Sleep')
  await tool.running
  for (const id of ['msg_c', 'msg_d', 'msg_c']) assert.equal((await compact(service, id)).item?.messageId, 'msg_c')
  await assert.rejects(compact(service, 'msg_1'), /used for something else/)
  await client.changeInboxDelivery({ sessionId, messageId: 'msg_c', delivery: 2 }, asKey)
  assert.deepEqual(
    (await client.listInboxItems({ sessionId }, asKey)).items.map(({ delivery }) => delivery),
    [2],
  )
  await client.cancelInboxItem({ sessionId, messageId: 'msg_c' }, asKey)
  await assert.rejects(compact(service, 'msg_c'), /was cancelled/)
  assert.equal((await compact(service, 'msg_e')).item?.messageId, 'msg_e')
  await client.interruptSession({ sessionId }, asKey)
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted'], 'it is parked')
})

test('a compaction requested during a run comes before the steers ahead of it, and the run goes on from the summary', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  peers.tools.wait = async function* (request, signal) {
    begun.resolve()
    await go.promise
    yield* says('waited')(request, signal)
  }
  peers.turns.push(calls({ id: 'a', name: 'wait' }), text('All so far.'), text('Done.'))
  await service.prompt('Wait')
  await begun.promise
  await service.prompt('Steered')
  await compact(service, 'msg_c')
  go.resolve()
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'completed', 'msg_2', 'assistant', 'succeeded'])
  assert.match(shown(service, 1)[0] ?? '', /\(calls wait with {}; result: waited\)/)
  assert.deepEqual(shown(service, 2).slice(1), ['Steered'])
})

test('a conversation too long for the model is summarized once, and the step is repeated', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  peers.turns.push(calls({ id: 'a', name: 'look' }), overflows, text('Summarized.'), text('Answered.'))
  await service.prompt('Look')
  await service.wait()
  const expected = ['msg_1', 'assistant', 'assistant', 'completed', 'assistant', 'succeeded']
  assert.deepEqual(await course(service), expected)
  const [, refused] = await service.steps()
  assert.equal(refused?.error?.type, 'context.overflow')
  assert.deepEqual(shown(service, 3).slice(1), [
    'Continue where the conversation ended: the last request is still to be done.',
  ])
  assert.equal((await compactions(service))[0]?.manual, false)
})

test('when a prompt with its summary is too long, half of the kept text is kept, then half of that, before the run fails; a new input goes on', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  for (const words of ['One', 'Two', 'Three', 'Four']) {
    peers.turns.push(text(`Answer ${words}`))
    await service.prompt(words)
    await service.wait()
  }
  peers.turns.push(overflows, text('Summarized.'), ...Array(4).fill(overflows))
  await service.prompt('Much')
  await service.wait()
  const again = ['completed', 'assistant']
  const failing = ['msg_5', 'assistant', ...again, ...again, ...again, ...again, 'failed', 'failed']
  assert.deepEqual((await course(service)).slice(12), failing)
  const tried = await compactions(service)
  const kept = tried.map(({ summary, recent, costNanos }) => [summary, recent?.split('\n\n').slice(-4), costNanos])
  const [three, four, last] = ['assistant: Answer Three', 'user: Four', 'assistant: Answer Four']
  assert.deepEqual(kept.slice(1), [
    ['Summarized.', [three, four, last], undefined],
    ['Summarized.', [last], undefined],
    ['Summarized.', [''], undefined],
    [undefined, undefined, undefined],
  ])
  assert.deepEqual(kept[0], ['Summarized.', ['user: Three', three, four, last], 7n])
  assert.equal(tried.at(-1)?.error?.type, 'compaction.failed')
  assert.match(tried.at(-1)?.error?.message ?? '', /^The last input is too long/)
  assert.equal(await service.outcome(), Outcome.FAILED)
  assert.deepEqual(shown(service, -1).slice(1), ['Much'], 'the input stays whole')
  const length = (await course(service)).length
  peers.turns.push(overflows, text('Summarized again.'), text('Well.'))
  await service.prompt('Little')
  await service.wait()
  assert.deepEqual((await course(service)).slice(length), ['msg_6', 'assistant', 'completed', 'assistant', 'succeeded'])
  assert.deepEqual(shown(service, -1).slice(1), ['Little'])
  assert.match(shown(service, -2)[0] ?? '', /Summarized\.\n\n\n\nuser: Much/)
})

test('a first input that does not fit fails the run; another 400 is not an overflow', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  peers.turns.push(overflows)
  await service.prompt('Much')
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'failed', 'failed'])
  const [failed] = await compactions(service)
  assert.equal(failed?.error?.type, 'compaction.failed')
  assert.equal(peers.requests.length, 1, 'nobody was asked to summarize nothing')
  peers.turns.push(fails('PROVIDER_REFUSED', { status: '400' }))
  await service.prompt('Else')
  await service.wait()
  assert.deepEqual((await course(service)).slice(4), ['msg_2', 'assistant', 'failed'])
})

test('at the threshold a conversation is summarized before its next step; one that cannot be summarized goes on as it is', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  peers.contextLength = 18
  peers.turns.push(calls({ id: 'a', name: 'look' }), text('Short.'), text('Answered.'))
  await service.prompt('Hi')
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'completed', 'assistant', 'succeeded'])
  peers.turns.push(fails('PROVIDER_REFUSED'), calls({ id: 'b', name: 'look' }), text('Answered.'))
  await service.prompt('Once more')
  await service.wait()
  assert.deepEqual((await course(service)).slice(5), ['msg_2', 'failed', 'assistant', 'assistant', 'succeeded'])
})

test('the threshold is the share of the context in the setting', async () => {
  for (const [compactionPercent, compacted] of [
    [80, false],
    [40, true],
  ] as const) {
    await using service = await openSessionService({ compactionPercent })
    await service.create()
    service.peers.contextLength = 30
    service.peers.turns.push(calls({ id: 'a', name: 'look' }), text('Short.'), text('Answered.'))
    await service.prompt('Hi')
    await service.wait()
    assert.equal((await course(service)).includes('completed'), compacted, String(compactionPercent))
  }
})

test('a prompt that crosses the threshold comes after the summary whole, with its files and agents; what stays is not summarized as well', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  peers.contextLength = 1_000
  peers.turns.push(text('Old '.repeat(300)), text('Newest'), text('Summarized.'), text('Seen.'))
  for (const words of ['First', 'Second']) {
    await service.prompt(words)
    await service.wait()
  }
  await service.prompt('Look at this', { files: [{ uri: 'shot.png' }], agents: [{ name: 'explore' }] })
  await service.wait()
  assert.deepEqual((await course(service)).slice(6), ['msg_3', 'completed', 'assistant', 'succeeded'])
  const asked = /^<conversation>\nuser: First\n\nassistant: (Old )+\n<\/conversation>/
  assert.match(shown(service, 2)[0] ?? '', asked)
  const [summary = '', said, file, agent, ...others] = shown(service, 3)
  assert.match(summary, /<recent>\nuser: Second\n\nassistant: Newest\n<\/recent>$/)
  assert.deepEqual([said, file, others], ['Look at this', 'image', []])
  assert.match(agent ?? '', /mentions the agent "explore"/)
})

test('an input that was interrupted before anything answered it is whole after a requested summary, with its files', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers, client } = service
  peers.turns.push(text('Hi.'), hangs(''), text('Summarized.'), text('Seen.'))
  await service.prompt('Hello')
  await service.wait()
  await service.prompt('Look at this', { files: [{ uri: 'shot.png' }] })
  await waitFor('the model', () => peers.requests.length === 2)
  await client.interruptSession({ sessionId }, asKey)
  await service.wait()
  await compact(service, 'msg_c')
  await service.wait()
  await client.resumeSession({ sessionId }, asKey)
  await service.wait()
  const [summary, ...open] = shown(service, 3)
  assert.match(summary ?? '', /<recent>\nuser: Hello\n\nassistant: Hi\.\n<\/recent>$/)
  assert.deepEqual(open, ['Look at this', 'image'])
})

test('a conversation that is too long for the summarizer is shown shorter, and in the end not at all', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  peers.turns.push(text('word '.repeat(2_000)), overflows, overflows, text('Shorter.'))
  await service.prompt('Talk')
  await service.wait()
  await compact(service, 'msg_c')
  await service.wait()
  const lengths = peers.requests.slice(1).map(({ messages }) => messages[1]?.parts[0]?.part.value)
  const [first = 0, second = 0, third = 0] = lengths.map((part) =>
    part && 'text' in part ? (part.text?.length ?? 0) : 0,
  )
  assert.ok(first > second && second > third, `${first} ${second} ${third}`)
  assert.equal((await compactions(service))[0]?.summary, 'Shorter.')
  peers.turns.push(text('Well.'), ...Array(20).fill(overflows))
  await service.prompt('Talk again')
  await service.wait()
  await compact(service, 'msg_d')
  await service.wait()
  assert.equal(peers.turns.length, 11)
  assert.equal((await compactions(service))[1]?.error?.type, 'compaction.failed')
  assert.equal(await service.outcome(), Outcome.FAILED)
})

test('an interrupt ends a summary in progress, and the cost of an empty summary counts', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers, client } = service
  peers.turns.push(text('Well.'), hangs('So far'))
  await service.prompt('Hi')
  await service.wait()
  const { events } = await eventsUntil(client, 'compactionExtended')
  await compact(service, 'msg_c')
  await events
  await client.interruptSession({ sessionId }, asKey)
  await service.wait()
  const [interrupted] = await compactions(service)
  assert.deepEqual([interrupted?.status, interrupted?.error?.type], [Status.FAILED, 'compaction.interrupted'])
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
  peers.turns.push(async function* () {
    yield [finished(FinishReason.STOP)]
  })
  await compact(service, 'msg_d')
  await service.wait()
  const [, empty] = await compactions(service)
  assert.deepEqual([empty?.status, empty?.costNanos], [Status.FAILED, 7n])
  assert.equal((await client.getSession({ sessionId }, asKey)).session?.costNanos, 14n)
  assert.equal((await course(service)).at(-1), 'failed')
})

test('a summary that cannot be written because the session’s agent is gone names that agent', async () => {
  await using service = await openSessionService()
  await service.create(sessionId, 'nobody')
  await service.prompt('Hi')
  await service.wait()
  await compact(service, 'msg_c')
  await service.wait()
  const [failed] = await compactions(service)
  const error = { type: failed?.error?.type, message: failed?.error?.message }
  assert.deepEqual(error, { type: 'compaction.failed', message: 'Agent not found: nobody' })
})
