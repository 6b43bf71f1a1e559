import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent_Mode, PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import { Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, fails, type Turn, text } from '#test/support/session-turns.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const task = (input: object, id = 'a') => calls({ id, name: 'task', input })
const explore = { description: 'Look', prompt: 'Find it', subagent_type: 'explore' }

function peersWithAgents() {
  const peers = scriptedPeers()
  peers.subagents.push(
    { agentId: 'explore', description: 'Finds things' },
    { agentId: 'general', mode: Agent_Mode.ALL },
  )
  return peers
}

const said = ({ messages }: GenerationRequest): string => JSON.stringify(messages.at(-1)?.parts)

/** Does what the last message of its conversation has it do, whichever session asks. */
function byPrompt(turns: Readonly<Record<string, Turn>>): Turn {
  return (request, signal) => {
    const found = Object.entries(turns).find(([words]) => said(request).includes(words))
    return (found?.[1] ?? text('Done.'))(request, signal)
  }
}

async function childrenOf({ client }: SessionFixture, parentId = 'ses_1') {
  return (await client.listSessions({ parentId }, asKey)).sessions
}

function textIn(call: Awaited<ReturnType<SessionFixture['calls']>>[number] | undefined): string {
  return call?.content.map(({ content }) => (content.case === 'text' ? content.value : '')).join('') ?? ''
}

test('an agent lets another one work in a session of its own, and gets its last answer', async () => {
  await using service = await openSessionService({ peers: peersWithAgents() })
  await service.create()
  const { peers } = service
  peers.turns.push(task(explore), text('It is in a.ts'), text('Thanks'))
  await service.prompt('Where?')
  await service.wait()
  const [child] = await childrenOf(service)
  assert.ok(child)
  assert.equal(child.title, 'Look (@explore subagent)')
  assert.deepEqual([child.agent, child.directory, child.parentId], ['explore', '/project', 'ses_1'])
  assert.deepEqual([child.model?.providerId, child.model?.modelId], ['test', 'model'])
  const [call] = await service.calls()
  assert.deepEqual(call?.metadata, { sessionID: child.sessionId, agent: 'explore' })
  assert.equal(textIn(call), `task_id: ${child.sessionId}\n\n<task_result>\nIt is in a.ts\n</task_result>`)
  assert.match(said(peers.requests[1] as GenerationRequest), /Find it/)
  assert.match(said(peers.requests[2] as GenerationRequest), /It is in a\.ts/)
  const { tools = [] } = peers.requests[0] ?? {}
  assert.match(tools.find(({ name }) => name === 'task')?.description ?? '', /- explore: Finds things\n- general: /)
  const session = (await service.client.getSession({ sessionId: 'ses_1' }, asKey)).session
  // Two steps of its own; what the child costs is the child's.
  assert.deepEqual([session?.costNanos, child.costNanos], [14n, 7n])
})

test('a fork of a child stays bound by the ancestors of that child, and what the child was denied is refused without a question', async () => {
  const peers = peersWithAgents()
  peers.rules.push({ action: 'peek', resource: '*', effect: Effect.DENY })
  Object.assign(peers.tools, { peek: peers.tools.look })
  await using service = await openSessionService({ peers })
  const rules = [
    { action: 'look', resource: '*', effect: Effect.DENY },
    { action: 'peek', resource: '*', effect: Effect.ASK },
  ]
  await service.client.createSession(
    { sessionId: 'ses_1', title: 'Test', directory: '/project', permissions: { rules } },
    asKey,
  )
  peers.turns.push(task(explore), calls({ id: 'a', name: 'look' }), text('First'))
  await service.prompt('Go')
  await service.wait()
  const [{ sessionId: child = '' } = {}] = await childrenOf(service)
  assert.deepEqual(
    (await service.calls(child)).map(({ error }) => error?.type),
    ['permission.denied'],
  )
  await service.client.forkSession({ sessionId: child, forkId: 'ses_fork' }, asKey)
  await service.client.removeSession({ sessionId: 'ses_1' }, asKey)
  peers.turns.push(calls({ id: 'b', name: 'look' }, { id: 'c', name: 'peek' }), text('Second'))
  await service.prompt('Look', { sessionId: 'ses_fork' })
  await service.wait('ses_fork')
  const types = (await service.calls('ses_fork')).map(({ error }) => error?.type)
  assert.deepEqual(types, ['permission.denied', 'permission.denied', 'permission.denied'])
})

test('a task continues a former session, if it belongs to this session and this agent', async () => {
  await using service = await openSessionService({ peers: peersWithAgents() })
  await service.create()
  await service.create('ses_other')
  const { peers } = service
  peers.turns.push(task(explore), text('First'))
  await service.prompt('Go')
  await service.wait()
  const [child] = await childrenOf(service)
  const former = { ...explore, task_id: child?.sessionId }
  const wrong = [
    { ...former, subagent_type: 'general' },
    { ...explore, task_id: 'ses_other' },
  ]
  peers.turns.push(
    calls(...[...wrong, former].map((input, i) => ({ id: `c${i}`, name: 'task', input }))),
    text('Second'),
  )
  await service.prompt('Once more')
  await service.wait()
  const [, other, foreign, again] = await service.calls()
  assert.deepEqual([other?.error?.type, foreign?.error?.type], ['task.session_unknown', 'task.session_unknown'])
  assert.match(textIn(again), /Second/)
  assert.equal((await childrenOf(service)).length, 1)
  const order = (await service.messages(child?.sessionId)).map(({ kind }) => kind.case)
  assert.deepEqual(order, ['user', 'assistant', 'idle', 'user', 'assistant', 'idle'])
  peers.turns.push(
    calls({ id: 'd', name: 'task', input: former }),
    fails('PROVIDER_REFUSED', { message: 'no' }),
    text('Well'),
  )
  await service.prompt('And again')
  await service.wait()
  const last = (await service.calls()).at(-1)
  assert.equal(last?.error?.type, 'task.failed')
  assert.match(textIn(last), /<task_result>\n\n</, 'what it said before was another answer')
})

test('an impossible task is an error for the model, and no session is created', async () => {
  const peers = peersWithAgents()
  peers.rules.push({ action: 'task', resource: 'general', effect: Effect.DENY })
  await using service = await openSessionService({ peers })
  await service.create()
  const inputs = [
    [{ ...explore, subagent_type: 'build' }, 'task.agent_unknown'],
    [{ ...explore, subagent_type: '' }, 'tool.input_invalid'],
    [{ ...explore, prompt: ' ' }, 'tool.input_invalid'],
    [{ ...explore, description: 1 }, 'tool.input_invalid'],
    [{ ...explore, task_id: 1 }, 'tool.input_invalid'],
    [{ ...explore, subagent_type: 'general' }, 'permission.denied'],
  ] as const
  peers.turns.push(calls(...inputs.map(([input], i) => ({ id: `c${i}`, name: 'task', input }))))
  await service.prompt('Go')
  await service.wait()
  const errors = (await service.calls()).map(({ error }) => error?.type)
  assert.deepEqual(
    errors,
    inputs.map(([, type]) => type),
  )
  assert.deepEqual(await childrenOf(service), [])
  assert.doesNotMatch(JSON.stringify(peers.requests[0]?.tools), /general/)
})

test('at most a hundred tasks of one step are accepted', async () => {
  await using service = await openSessionService({ peers: peersWithAgents() })
  await service.create()
  const { peers } = service
  const wrong = Array.from({ length: 99 }, (_, i) => ({ id: `c${i}`, name: 'task', input: {} }))
  const more = ['last', 'over'].map((id) => ({ id, name: 'task', input: explore }))
  peers.turns.push(calls(...wrong, ...more), text('Found'), text('Done'))
  await service.prompt('Go')
  await service.wait()
  const [last, over] = (await service.calls()).slice(-2)
  assert.match(textIn(last), /Found/)
  assert.equal(over?.error?.type, 'task.too_many')
  assert.equal((await childrenOf(service)).length, 1)
})

test('sessions are nested no deeper than the limit, and a limit of 0 removes the tool', async () => {
  for (const taskDepth of [0, 1]) {
    const peers = peersWithAgents()
    await using service = await openSessionService({ peers, taskDepth })
    await service.create()
    peers.turns.push(task(explore), task(explore), text('No more'))
    await service.prompt('Go')
    await service.wait()
    const offered = peers.requests.map(({ tools }) => tools.some(({ name }) => name === 'task'))
    assert.deepEqual(offered, taskDepth === 0 ? [false, false, false] : [true, false, false, true])
    const children = await childrenOf(service)
    assert.equal(children.length, taskDepth)
    const [call] = await service.calls(children[0]?.sessionId)
    assert.equal(call?.error?.type, 'task.agent_unknown')
  }
})

test('100 parents with a child each all finish with one slot', async () => {
  const peers = peersWithAgents()
  await using service = await openSessionService({ peers, maxRuns: 1 })
  // With a space: the id in a task's answer may hold any word.
  const turn = byPrompt({ 'Find it': text('Found'), 'Go on': task(explore) })
  peers.turns.push(...Array.from({ length: 300 }, () => turn))
  const ids = Array.from({ length: 100 }, (_, i) => `ses_${i}`)
  for (const sessionId of ids) {
    await service.create(sessionId)
    await service.prompt('Go on', { sessionId, messageId: `msg_of_${sessionId}` })
  }
  for (const id of ids) {
    await service.wait(id)
    assert.match(textIn((await service.calls(id))[0]), /Found/)
  }
  assert.equal(peers.requests.length, 300)
})

test('a task that fails is an error for the model, with the text so far', async () => {
  await using service = await openSessionService({ peers: peersWithAgents() })
  await service.create()
  service.peers.turns.push(task(explore), fails('PROVIDER_REFUSED', { message: 'no' }, 'Half'), text('Well'))
  await service.prompt('Go')
  await service.wait()
  const [call] = await service.calls()
  assert.equal(call?.error?.type, 'task.failed')
  assert.match(call?.error?.message ?? '', /^The task failed: The provider refused the request/)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('a change of a session’s rules binds the sessions below it from their next step on, and their requests are answered as any other', async () => {
  const peers = peersWithAgents()
  await using service = await openSessionService({ peers })
  await service.create()
  const { client } = service
  const rule = (action: string, effect: Effect) => ({ action, resource: '*', effect })
  const permissions = { rules: [rule('look', Effect.ASK), rule('task', Effect.ASK)] }
  const updateMask = { paths: ['permissions'] }
  await client.updateSession({ sessionId: 'ses_1', permissions, updateMask }, asKey)
  peers.turns.push(task(explore), calls({ id: 'b', name: 'look' }), calls({ id: 'c', name: 'look' }))
  await service.prompt('Go')
  const request = async (action: string) => {
    const waiting = async () => (await client.listPermissionRequests({}, asKey)).requests
    return await waitUntil(`a request for ${action}`, async () =>
      (await waiting()).find((each) => each.action === action),
    )
  }
  const first = await request('task')
  assert.deepEqual([first.resources, first.savePatterns], [['explore'], ['explore']])
  const reply = ({ sessionId, requestId }: typeof first) =>
    client.replyPermissionRequest({ sessionId, requestId, reply: PermissionReply.ONCE }, asKey)
  await reply(first)
  const second = await request('look')
  const [child] = await childrenOf(service)
  assert.equal(second.sessionId, child?.sessionId)
  const refused = { rules: [rule('look', Effect.DENY)] }
  await client.updateSession({ sessionId: 'ses_1', permissions: refused, updateMask }, asKey)
  await reply(second)
  await service.wait()
  const states = (await service.calls(child?.sessionId)).map(({ error }) => error?.type)
  assert.deepEqual(states, [undefined, 'permission.denied'])
  assert.equal((await service.calls())[0]?.error, undefined)
})
