import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { systemClock } from '#shared/clock.ts'
import { afterKill } from '#test/support/after-kill.ts'
import { asKey, eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, fails, hangingTool, hangs, text } from '#test/support/session-turns.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const sessionId = 'ses_1'
const queued = { delivery: 2 }
const resume = (service: SessionFixture) => service.client.resumeSession({ sessionId }, asKey)
const interrupt = (service: SessionFixture, resume = false) =>
  service.client.interruptSession({ sessionId, resume }, asKey)

/** The conversation in short: ids of inputs, kinds of the rest, and how each run ended. */
async function course(service: SessionFixture): Promise<string[]> {
  return (await service.messages()).map(({ messageId, kind }) => {
    if (kind.case === 'idle') return Outcome[kind.value.outcome].toLowerCase()
    return kind.case === 'user' ? messageId : String(kind.case)
  })
}

const inboxOf = async ({ client }: SessionFixture): Promise<string[]> =>
  (await client.listInboxItems({ sessionId }, asKey)).items.map(({ messageId }) => messageId)

test('a failed run is resumed without an input, and its failed step is not shown to the model again', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(fails('PROVIDER_REFUSED', {}, 'Half an'), text('Well'))
  await service.prompt('Hi')
  await service.wait()
  await resume(service)
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'failed', 'assistant', 'succeeded'])
  const [first, second] = service.peers.requests
  assert.deepEqual(second?.messages, first?.messages)
  await resume(service)
  await service.wait()
  assert.equal((await course(service)).length, 5, 'nothing is left to go on with')
})

test('an interrupted run is resumed from within an answer, from within its tools, and after a rejected call', async () => {
  await using service = await openSessionService()
  await service.create()
  const { client, peers } = service
  const tool = hangingTool()
  peers.tools.sleep = tool.script
  peers.turns.push(hangs('Let me'), calls({ id: 'a', name: 'sleep' }), calls({ id: 'b', name: 'look' }), text('Done'))
  const { events } = await eventsUntil(client, 'partExtended')
  await service.prompt('Hi')
  await events
  await interrupt(service)
  await service.wait()
  await resume(service)
  await tool.running
  await interrupt(service)
  await service.wait()
  peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  await resume(service)
  const request = await waitUntil('the request', async () => {
    return (await client.listPermissionRequests({ sessionId }, asKey)).requests[0]
  })
  await client.replyPermissionRequest({ sessionId, requestId: request.requestId, reply: PermissionReply.REJECT }, asKey)
  await service.wait()
  await resume(service)
  await service.wait()
  const run = ['assistant', 'interrupted']
  assert.deepEqual(await course(service), ['msg_1', ...run, ...run, ...run, 'assistant', 'succeeded'])
})

test('a resume behind an interrupt goes on once the run has ended, and one during a run joins it', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  const tool = hangingTool()
  peers.tools.sleep = tool.script
  peers.turns.push(calls({ id: 'a', name: 'sleep' }), text('Done'))
  const ending = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  peers.onEnd = () => {
    ending.resolve()
    return ended.promise
  }
  await service.prompt('Hi')
  await tool.running
  await resume(service)
  await interrupt(service)
  await ending.promise
  await resume(service)
  ended.resolve()
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted', 'assistant', 'succeeded'])
})

test('an interrupt that resumes goes on with steers and a move, and parks queued inputs', async () => {
  await using service = await openSessionService()
  await service.create()
  const { client, peers } = service
  peers.turns.push(hangs())
  const { events } = await eventsUntil(client, 'partExtended')
  await service.prompt('One')
  await events
  await service.prompt('Two', queued)
  await client.moveSession({ sessionId, messageId: 'msg_move', directory: '/other' }, asKey)
  await service.prompt('Three')
  await interrupt(service, true)
  await service.wait()
  assert.deepEqual(await course(service), [
    ...['msg_1', 'assistant', 'interrupted'],
    ...['locationSwitched', 'msg_3', 'assistant', 'succeeded'],
  ])
  assert.deepEqual(await inboxOf(service), ['msg_2'])
  assert.deepEqual(await interrupt(service, true), { ...(await interrupt(service)), interrupted: false })
  await resume(service)
  await service.wait()
  assert.deepEqual((await course(service)).slice(-3), ['msg_2', 'assistant', 'succeeded'])
})

test('a move that was admitted survives a kill, and is applied once before the run goes on', async () => {
  await using service = await openSessionService()
  await service.create()
  const { client, peers } = service
  const tool = hangingTool()
  peers.tools.sleep = tool.script
  peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('One')
  await tool.running
  await client.moveSession({ sessionId, messageId: 'msg_move', directory: '/other' }, asKey)
  const directory = await afterKill(service)
  const after = await openSessionService({ directory })
  await after.wait()
  const { session } = await after.client.getSession({ sessionId }, asKey)
  assert.equal(session?.directory, '/other')
  assert.match(JSON.stringify(after.peers.requests[0]?.messages[0]), /The project directory is \/other/)
  const all = ['msg_1', 'assistant', 'locationSwitched', 'assistant', 'succeeded']
  assert.deepEqual(await course(after), all)
  await after[Symbol.asyncDispose]()
  await using again = await openSessionService({ directory })
  await again.wait()
  assert.deepEqual(await course(again), all)
})

test('an interrupt keeps a move from being applied, until something else wakes the session', async () => {
  await using service = await openSessionService()
  await service.create()
  const { client, peers } = service
  peers.turns.push(hangs())
  const { events } = await eventsUntil(client, 'partExtended')
  await service.prompt('One')
  await events
  await client.moveSession({ sessionId, messageId: 'msg_move', directory: '/other' }, asKey)
  await interrupt(service)
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted'])
  await service.prompt('Two')
  await service.wait()
  assert.deepEqual((await course(service)).slice(3), ['locationSwitched', 'msg_2', 'assistant', 'succeeded'])
})

test('without automatic resumption, a run that was cut off ends as interrupted at the start', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('One')
  await tool.running
  await service.prompt('Two')
  await service.prompt('Three', queued)
  const directory = await afterKill(service)
  await using after = await openSessionService({ directory, autoResume: false })
  await after.wait()
  assert.deepEqual(await course(after), ['msg_1', 'assistant', 'interrupted'])
  assert.deepEqual([after.peers.requests.length, after.peers.ended.length], [0, 1])
  assert.equal((await after.calls())[0]?.error?.type, 'aborted')
  assert.equal(await after.outcome(), Outcome.INTERRUPTED)
  assert.deepEqual(await inboxOf(after), ['msg_2', 'msg_3'])
  await resume(after)
  await after.wait()
  assert.deepEqual((await course(after)).slice(3), [
    ...['msg_2', 'assistant', 'succeeded'],
    ...['msg_3', 'assistant', 'succeeded'],
  ])
})

test('without automatic resumption, a run whose lease this process lost and took again still goes on', async () => {
  let jumped = 0
  const clock = { now: () => systemClock.now() + jumped, monotonic: () => systemClock.monotonic() }
  await using service = await openSessionService({ clock, leaseMs: 600_000, pollMs: 20, autoResume: false })
  await service.create()
  const late = Promise.withResolvers<void>()
  const tool = hangingTool()
  service.peers.tools.sleep = async function* (request, signal) {
    yield* tool.script(request, signal)
    await late.promise
  }
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }), text('Went on'))
  await service.prompt('One')
  await tool.running
  const { events } = await eventsUntil(service.client, 'executionEnded')
  jumped = 601_000
  await events
  late.resolve()
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'assistant', 'succeeded'])
})

test('without automatic resumption, a prompt at the start is run all the same, with what was parked', async () => {
  await using service = await openSessionService()
  await service.create()
  await service.create('ses_2')
  service.peers.turns.push(hangs())
  const { events } = await eventsUntil(service.client, 'partExtended')
  await service.prompt('One')
  await events
  await service.prompt('Two')
  const directory = await afterKill(service)
  const held = Promise.withResolvers<void>()
  await using after = await openSessionService({ directory, autoResume: false })
  after.peers.onEnd = () => held.promise
  await after.client.promptSession({ sessionId, messageId: 'msg_new', text: 'New' }, asKey)
  held.resolve()
  await after.wait()
  assert.deepEqual(await course(after), [
    'msg_1',
    'assistant',
    'interrupted',
    'msg_2',
    'msg_new',
    'assistant',
    'succeeded',
  ])
})

test('without automatic resumption, a stop parks runs, too, along with inputs without a run', async () => {
  await using service = await openSessionService({ maxRuns: 1, autoResume: false })
  await service.create()
  await service.create('ses_2')
  service.peers.turns.push(hangs())
  const { events } = await eventsUntil(service.client, 'partExtended')
  await service.prompt('One')
  await events
  await service.prompt('Two')
  await service.client.promptSession({ sessionId: 'ses_2', messageId: 'msg_other', text: 'Hi' }, asKey)
  const directory = await afterKill(service)
  await using after = await openSessionService({ directory, autoResume: false })
  await after.wait()
  await after.wait('ses_2')
  assert.deepEqual(await course(after), ['msg_1', 'assistant', 'interrupted'])
  assert.deepEqual(await after.messages('ses_2'), [])
  assert.equal(after.peers.requests.length, 0)
})

test('an input whose run was interrupted while a conversation was summarized is shown whole when that is resumed', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  peers.contextLength = 1_000
  peers.turns.push(text('Old '.repeat(300)), hangs('So far'), text('Summarized.'), text('Seen.'))
  await service.prompt('First')
  await service.wait()
  const { events } = await eventsUntil(service.client, 'compactionExtended')
  await service.prompt('Look at this', { files: [{ uri: 'shot.png' }] })
  await events
  await interrupt(service)
  await service.wait()
  await resume(service)
  await service.wait()
  const since = ['msg_2', 'compaction', 'interrupted', 'compaction', 'assistant', 'succeeded']
  assert.deepEqual((await course(service)).slice(3), since)
  const [asked, shown] = [2, 3].map((n) => peers.requests[n]?.messages.slice(1).flatMap(({ parts }) => parts))
  assert.doesNotMatch(JSON.stringify(asked?.map(({ part }) => part.value)), /Look at this/)
  const [, said, file] = shown ?? []
  assert.deepEqual([said?.part.case === 'text' && said.part.value.text, file?.part.case], ['Look at this', 'image'])
})
