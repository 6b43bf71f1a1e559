import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Message_Role } from '#gen/portico/inference/v1/inference_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { plain } from '#test/support/inference.ts'
import { asKey, eventsUntil, key, openSessionService } from '#test/support/session-service.ts'
import { calls, extended, hangs, says, started, text } from '#test/support/session-turns.ts'

test('a prompt is answered with a message, cost and tokens, and its events come in order, deltas between the durable ones', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(text('Hello there'))
  const { events } = await eventsUntil(service.client, 'executionEnded')
  await service.prompt('Hi')
  await service.wait()
  const seen = (await events).map(({ event, seq, position }) => [
    event.case,
    seq === undefined && position === undefined,
  ])
  assert.deepEqual(seen, [
    ['inboxEnqueued', false],
    ['executionStarted', false],
    ['inboxDelivered', false],
    ['stepStarted', false],
    ['partStarted', false],
    ['partExtended', true],
    ['partExtended', true],
    ['partEnded', false],
    ['stepStreamed', false],
    ['stepEnded', false],
    ['executionEnded', false],
  ])
  const [user, answer, idle] = await service.messages()
  assert.equal(user?.messageId, 'msg_1')
  assert.ok(answer?.kind.case === 'assistant')
  const { streamTime, completeTime, ...step } = answer.kind.value
  assert.ok(streamTime && completeTime)
  assert.deepEqual(plain(step), {
    agent: 'build',
    model: { providerId: 'test', modelId: 'model' },
    parts: [{ part: { case: 'text', value: { text: 'Hello there' } } }],
    finish: 'stop',
    rawFinish: 'raw',
    costNanos: 7n,
    tokens: { input: 8, output: 4, reasoning: 1, cacheRead: 2, cacheWrite: 0 },
    attempt: 1,
  })
  assert.deepEqual(plain(idle?.kind), { case: 'idle', value: { outcome: Outcome.SUCCEEDED } })
  const { session } = await service.client.getSession({ sessionId: 'ses_1' }, asKey)
  assert.equal(session?.costNanos, 7n)
  assert.deepEqual(plain(session?.tokens), { input: 8, output: 4, reasoning: 1, cacheRead: 2, cacheWrite: 0 })
})

test('the key that admitted the prompt pays, and the step has the id of its request in the ledger', async () => {
  await using service = await openSessionService()
  await service.create()
  await service.prompt('Hi')
  await service.wait()
  const [step] = (await service.messages()).filter(({ kind }) => kind.case === 'assistant')
  assert.deepEqual(service.peers.principals, [key])
  assert.equal(service.peers.requests[0]?.requestId, `${step?.messageId}-1`)
  assert.equal(service.peers.requests[0]?.origin, 'session')
  assert.equal(service.peers.requests[0]?.sessionId, 'ses_1')
})

test('a tool call runs and its result goes back to the model', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(calls({ id: 'call_1', name: 'look', input: { path: 'a' } }), text('I saw it'))
  await service.prompt('Look')
  await service.wait()
  const [call] = await service.calls()
  assert.equal(call?.state, 3)
  assert.deepEqual(plain(call?.input), { path: 'a' })
  assert.deepEqual(plain(call?.content), [{ content: { case: 'text', value: 'seen' } }])
  assert.ok(call?.createTime && call.runTime && call.completeTime)
  const conversation = service.peers.requests[1]?.messages.slice(1)
  const cacheControl = { hint: true }
  assert.deepEqual(plain(conversation), [
    {
      role: Message_Role.USER,
      parts: [{ part: { case: 'text', value: { text: 'Look', sources: [] } }, cacheControl }],
    },
    {
      role: Message_Role.ASSISTANT,
      parts: [
        {
          part: {
            case: 'toolCall',
            value: { callId: 'call_1', name: 'look', arguments: '{"path":"a"}', custom: false },
          },
        },
      ],
    },
    {
      role: Message_Role.TOOL,
      parts: [
        {
          cacheControl,
          part: {
            case: 'toolResult',
            value: {
              callId: 'call_1',
              content: [{ part: { case: 'text', value: { text: 'seen', sources: [] } } }],
              failed: false,
              custom: false,
            },
          },
        },
      ],
    },
  ])
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('a tool is not started before its call is written', async () => {
  await using service = await openSessionService()
  await service.create()
  let written: unknown
  service.peers.tools.look = async function* (request, signal) {
    const [call] = await service.calls()
    written = [call?.callId, call?.state]
    yield* says('ok')(request, signal)
  }
  service.peers.turns.push(calls({ id: 'call_1', name: 'look' }))
  await service.prompt('Look')
  await service.wait()
  assert.deepEqual(written, ['call_1', 2])
})

test('the tool calls of one step run at the same time, and each has its result', async () => {
  await using service = await openSessionService()
  await service.create()
  const both = Promise.withResolvers<void>()
  let running = 0
  service.peers.tools.meet = async function* (request, signal) {
    if (++running === 2) both.resolve()
    await both.promise
    yield* says(`met ${request.input?.name}`)(request, signal)
  }
  service.peers.turns.push(
    calls({ id: 'a', name: 'meet', input: { name: 'a' } }, { id: 'b', name: 'meet', input: { name: 'b' } }),
  )
  await service.prompt('Meet')
  await service.wait()
  const seen = (await service.calls()).map(({ callId, content }) => [callId, content[0]?.content.value])
  assert.deepEqual(seen, [
    ['a', 'met a'],
    ['b', 'met b'],
  ])
})

test('calls of one answer without ids, or with a shared id, are distinguished', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(calls({ id: '', name: 'look' }, { id: 'x', name: 'look' }, { id: 'x', name: 'look' }))
  service.peers.turns.push(calls({ id: 'x', name: 'look' }))
  await service.prompt('Look')
  await service.wait()
  const ids = (await service.calls()).map(({ callId }) => callId)
  assert.deepEqual(ids, ['call_1', 'x', 'x_1', 'x'])
  assert.equal(new Set(service.peers.started).size, 4)
})

test('a call that fails is shown to the model, and the run goes on', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.tools.break = async function* () {
    yield { event: { case: 'failed', value: { type: 'timeout', message: 'too slow' } } }
  }
  service.peers.tools.vanish = async function* () {}
  // biome-ignore lint/correctness/useYield: it is refused before it begins
  service.peers.tools.gone = async function* () {
    throw new Rejection('TOOL_UNAVAILABLE', { name: 'gone', problem: 'its plugin has failed' })
  }
  service.peers.turns.push(
    calls(
      { id: 'a', name: 'break' },
      { id: 'b', name: 'nothing' },
      { id: 'c', name: 'look', raw: '{"path":' },
      { id: 'd', name: 'vanish' },
      { id: 'e', name: 'gone' },
    ),
  )
  await service.prompt('Try')
  await service.wait()
  const errors = (await service.calls()).map(({ state, error }) => [state, error?.type])
  assert.deepEqual(errors, [
    [4, 'tool.timeout'],
    [4, 'tool.not_found'],
    [4, 'tool.input_invalid'],
    [4, 'aborted'],
    [4, 'tool.refused'],
  ])
  const results = service.peers.requests[1]?.messages.at(-1)?.parts.map(({ part }) => part.value as never)
  assert.ok(results?.every(({ failed }) => failed === true))
  const sent = service.peers.requests[1]?.messages.at(-2)?.parts[2]?.part
  assert.equal(sent?.case === 'toolCall' && sent.value.arguments, '{}', 'broken arguments are no JSON for a provider')
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('a file that a tool returns is kept, shown with its content and sent to the model', async () => {
  await using service = await openSessionService()
  await service.create()
  const data = new Uint8Array([1, 2, 3])
  service.peers.tools.draw = async function* () {
    const file = { source: { case: 'data', value: data }, mime: 'image/png', name: 'a.png' } as const
    yield { event: { case: 'completed', value: { content: [{ content: { case: 'file', value: file } }] } } }
  }
  service.peers.turns.push(calls({ id: 'a', name: 'draw' }))
  const { events } = await eventsUntil(service.client, 'toolSucceeded')
  await service.prompt('Draw')
  await service.wait()
  const file = { source: { case: 'data', value: data }, mime: 'image/png', name: 'a.png' }
  assert.deepEqual(plain((await service.calls())[0]?.content), [{ content: { case: 'file', value: file } }])
  const event = (await events).at(-1)?.event
  assert.deepEqual(event?.case === 'toolSucceeded' && plain(event.value.content), [
    { content: { case: 'file', value: file } },
  ])
  const result = service.peers.requests[1]?.messages.at(-1)?.parts[0]?.part
  const sent = result?.case === 'toolResult' ? result.value.content[0]?.part : undefined
  assert.equal(sent?.case, 'image')
  assert.deepEqual(sent?.case === 'image' && sent.value.source, { case: 'data', value: data })
})

test('a steer during a step enters before the next provider call; a queued input waits for the end of the run', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.tools.look = async function* (request, signal) {
    await service.prompt('And this', { messageId: 'msg_steer' })
    await service.prompt('Later', { messageId: 'msg_queued', delivery: 2 })
    yield* says('seen')(request, signal)
  }
  service.peers.turns.push(calls({ id: 'a', name: 'look' }), text('One'), text('Two'))
  await service.prompt('Look')
  await service.wait()
  const order = (await service.messages()).map(({ messageId, kind }) => (kind.case === 'user' ? messageId : kind.case))
  assert.deepEqual(order, ['msg_1', 'assistant', 'msg_steer', 'assistant', 'idle', 'msg_queued', 'assistant', 'idle'])
})

test('reasoning goes back to its model, with the provider’s data untouched', async () => {
  await using service = await openSessionService()
  await service.create()
  const thought = { summary: 'I thought', signature: 'sig', encrypted: 'enc', id: 'rs_1' }
  service.peers.turns.push(async function* (request, signal) {
    yield [started(0, 3), extended(0, 'I thought')]
    yield [{ event: { case: 'partEnded', value: { index: 0, part: { part: { case: 'reasoning', value: thought } } } } }]
    yield* text('So it is')(request, signal)
  })
  await service.prompt('Think')
  await service.wait()
  await service.prompt('Again')
  await service.wait()
  await service.client.switchSessionModel(
    { sessionId: 'ses_1', model: { providerId: 'other', modelId: 'm', variant: 'high' } },
    asKey,
  )
  await service.prompt('And you?')
  await service.wait()
  const [first] = await service.steps()
  const kept = first?.parts[0]?.part
  assert.equal(kept?.case === 'reasoning' && kept.value.text, 'I thought')
  const sent = (i: number) => service.peers.requests[i]?.messages[2]?.parts.map(({ part }) => part.case)
  assert.deepEqual(sent(1), ['reasoning', 'text'])
  assert.deepEqual(plain(service.peers.requests[1]?.messages[2]?.parts[0]?.part.value), thought)
  assert.deepEqual(sent(2), ['text'], 'another model does not get it')
  assert.equal(service.peers.requests[2]?.model, 'other/m')
  assert.equal(service.peers.requests[2]?.reasoning?.effort, 'high')
})

test('the last step that an agent may take calls no tools, and its request says so to the model', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.steps = 2
  const look = { id: 'a', name: 'look' }
  service.peers.turns.push(calls(look), calls(look), text('never'))
  await service.prompt('Look')
  await service.wait()
  assert.equal(service.peers.requests.length, 2)
  assert.deepEqual(
    service.peers.requests.map(({ toolChoice }) => toolChoice?.mode),
    [undefined, 2],
  )
  assert.equal(service.peers.started.length, 1)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('an unknown agent fails the run and is named', async () => {
  await using service = await openSessionService()
  await service.create('ses_1', 'nobody')
  await service.prompt('Hi')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.FAILED)
  const idle = (await service.messages()).at(-1)?.kind
  assert.equal(idle?.case === 'idle' && idle.value.error?.type, 'agent.not_found')
})

test('a parked prompt runs nothing until another one wakes the session', async () => {
  await using service = await openSessionService()
  await service.create()
  await service.prompt('Later', { parked: true })
  await service.wait()
  assert.equal(service.peers.requests.length, 0)
  await service.prompt('Now')
  await service.wait()
  const seen = (await service.messages()).map(({ kind }) => kind.case)
  assert.deepEqual(seen, ['user', 'user', 'assistant', 'idle'])
})

test('at most the allowed number of sessions run at once, and the others follow', async () => {
  await using service = await openSessionService({ maxRuns: 1 })
  await service.create('ses_1')
  await service.create('ses_2')
  service.peers.turns.push(hangs())
  const { events } = await eventsUntil(service.client, 'partExtended')
  await service.prompt('One')
  await events
  await service.prompt('Two', { sessionId: 'ses_2' })
  const { sessionIds } = await service.client.listActiveSessions({}, asKey)
  assert.deepEqual(sessionIds, ['ses_1'])
  await service.client.interruptSession({ sessionId: 'ses_1' }, asKey)
  await service.wait('ses_2')
  assert.equal(await service.outcome('ses_2'), Outcome.SUCCEEDED)
})
