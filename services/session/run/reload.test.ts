import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outcome, PermissionReply as Reply } from '#gen/portico/session/v1/session_pb.js'
import { callOptions } from '#shared/rpc/call-context.ts'
import { asOperator, writeFiles } from '#test/support/catalog.ts'
import { openRealTools, type RealTools } from '#test/support/real-tools.ts'
import { asKey, key } from '#test/support/session-service.ts'
import { calls, type Turn, text } from '#test/support/session-turns.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const write = (id: string) => ({ id, name: 'write', input: { path: `${id}.txt`, content: '' } })

const waiting = async ({ service }: RealTools) => (await service.client.listPermissionRequests({}, asKey)).requests

async function asking(tools: RealTools, session: string, ...ids: readonly string[]) {
  await tools.create({ id: session, permissions: ['edit * ask'] })
  tools.service.peers.turns.push(calls(...ids.map(write)))
  await tools.service.client.promptSession({ sessionId: session, messageId: `msg_${session}`, text: 'Write' }, asKey)
  return waitUntil('requests that wait', async () => {
    const requests = (await waiting(tools)).filter(({ sessionId }) => sessionId === session)
    return requests.length === ids.length ? requests : undefined
  })
}

/** Reloads the locations of another workspace, which may use the same directories. */
async function reloadElsewhere({ catalog, service }: RealTools): Promise<void> {
  const hungUp = new AbortController()
  const stream = catalog.client.streamEvents({}, { ...asOperator, signal: hungUp.signal })[Symbol.asyncIterator]()
  await stream.next()
  const elsewhere = callOptions({ principal: { ...key, workspaceId: 'wrk_2' }, requestId: 'req_2' })
  await service.client.reloadLocations({}, elsewhere)
  const shutdown = async () => {
    for await (const { message } of { [Symbol.asyncIterator]: () => stream })
      if (message.case === 'event' && message.value.event.case === 'locationShutdown') return message.value.directory
    return undefined
  }
  assert.equal(await shutdown(), catalog.project)
  hungUp.abort()
}

test('a reload rejects what waits, in every session, and the runs go on with what the location offers now', async () => {
  await using tools = await openRealTools()
  const { catalog, service } = tools
  await writeFiles(catalog.project, { '.opencode/agents/build.md': 'Be brief.' })
  const [request] = await asking(tools, 'ses_1', 'a', 'b')
  await asking(tools, 'ses_2', 'c')
  await writeFiles(catalog.project, { '.opencode/agents/build.md': 'Be thorough.' })
  service.peers.turns.push(text('On.'), text('On.'))
  await reloadElsewhere(tools)
  assert.equal((await waiting(tools)).length, 3, 'what another workspace reloads is its own')
  await service.client.reloadLocations({}, asKey)
  assert.deepEqual(await waiting(tools), [])
  const late = { sessionId: 'ses_1', requestId: request?.requestId ?? '', reply: Reply.ONCE }
  await assert.rejects(service.client.replyPermissionRequest(late, asKey), /not found/)
  for (const sessionId of ['ses_1', 'ses_2']) await service.client.waitSession({ sessionId }, asKey)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  const message = 'The location was reloaded before anybody answered'
  assert.deepEqual(
    (await service.calls()).map(({ error }) => [error?.type, error?.message]),
    [
      ['permission.corrected', message],
      ['permission.corrected', message],
    ],
  )
  const systems = service.peers.requests.map(({ messages }) => /Be \w+\./.exec(JSON.stringify(messages[0]))?.[0])
  assert.deepEqual(systems, ['Be brief.', 'Be brief.', 'Be thorough.', 'Be thorough.'])
})

test('a question asked after a reload waits for its answer, and one that was answered stays answered', async () => {
  await using tools = await openRealTools()
  const { service } = tools
  const [request] = await asking(tools, 'ses_1', 'a')
  const reply = { sessionId: 'ses_1', requestId: request?.requestId ?? '', reply: Reply.ONCE }
  const reloaded = Promise.withResolvers<void>()
  const later: Turn = async function* (...given) {
    await reloaded.promise
    yield* calls(write('b'))(...given)
  }
  service.peers.turns.push(later, text('Done.'))
  await service.client.replyPermissionRequest(reply, asKey)
  await service.client.reloadLocations({}, asKey)
  reloaded.resolve()
  const next = await waitUntil('the next request', async () => (await waiting(tools))[0])
  assert.equal((await service.calls())[0]?.error, undefined)
  await service.client.replyPermissionRequest({ ...reply, requestId: next.requestId }, asKey)
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

for (const [change, after, error] of [
  ['is run when it is granted', 'Be brief.', undefined],
  [
    'is not run if the location has changed, and the run goes on with what it offers now',
    'Be thorough.',
    'tool.location_changed',
  ],
] as const) {
  test(`a reload by a workspace that shares the directory leaves a request waiting; its call ${change}`, async () => {
    await using tools = await openRealTools()
    const { catalog, service } = tools
    await writeFiles(catalog.project, { '.opencode/agents/build.md': 'Be brief.' })
    const [request] = await asking(tools, 'ses_1', 'a')
    await writeFiles(catalog.project, { '.opencode/agents/build.md': after })
    await reloadElsewhere(tools)
    service.peers.turns.push(text('Done.'))
    const granted = { sessionId: 'ses_1', requestId: request?.requestId ?? '', reply: Reply.ONCE }
    await service.client.replyPermissionRequest(granted, asKey)
    await service.wait()
    assert.deepEqual(
      (await service.calls()).map((call) => call.error?.type),
      [error],
    )
    assert.ok(JSON.stringify(service.peers.requests[1]?.messages[0]).includes(after))
  })
}
