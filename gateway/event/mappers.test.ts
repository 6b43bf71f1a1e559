import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { PartRef_Kind, SessionEventSchema } from '#gen/portico/session/v1/event_pb.js'
import { Delivery, Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { fromEvent, fromEventLive } from './mappers.ts'

type Init = MessageInitShape<typeof SessionEventSchema>
type Json = { type: string; data: Record<string, unknown> }

const whole = (init: Init): unknown => {
  const json = fromEvent(create(SessionEventSchema, init))
  return json === undefined ? undefined : JSON.parse(JSON.stringify(json))
}

/** Type of an event, and its data beside `sessionID`. */
const shown = (event: Init['event']): [string, unknown] => {
  const { type, data } = whole({ sessionId: 'ses_1', createTime: 7, seq: 1, event } as Init) as Json
  const { sessionID, ...rest } = data
  assert.equal(sessionID, 'ses_1')
  return [type, rest]
}

const step = { assistantMessageID: 'msg_2' }
const call = { messageId: 'msg_2', callId: 'call_1' }
const error = { type: 'aborted', message: 'M' }
const model = { modelId: 'echo', providerId: 'portico' }
const modelJson = { id: 'echo', providerID: 'portico' }
const text = { messageId: 'msg_2', kind: PartRef_Kind.TEXT, ordinal: 1 }
const reasoning = { messageId: 'msg_2', kind: PartRef_Kind.REASONING, ordinal: 0 }
const input = { messageId: 'msg_2', kind: PartRef_Kind.TOOL_INPUT, ordinal: 2, callId: 'call_1', toolName: 'read' }

const usage = { costNanos: 3_000_000_000n, tokens: { input: 1, output: 2 } }
const usageJson = { cost: 3, tokens: { input: 1, output: 2, reasoning: 0, cache: { read: 0, write: 0 } } }

test('a listener also receives whether a session is busy, and its usage', () => {
  const retry = { attempt: 2, startTime: 5, error }
  const cases: [Init['event'], [string, unknown][]][] = [
    [{ case: 'executionStarted', value: {} }, [['session.status', { status: { type: 'busy' } }]]],
    [
      { case: 'executionEnded', value: { outcome: Outcome.INTERRUPTED, reason: 'user' } },
      [
        ['session.status', { status: { type: 'idle' } }],
        ['session.idle', {}],
      ],
    ],
    [
      { case: 'retryScheduled', value: { messageId: 'msg_2', retry } },
      [['session.status', { status: { type: 'retry', attempt: 2, message: 'M', next: 5 } }]],
    ],
    [
      { case: 'stepEnded', value: { messageId: 'msg_2', costNanos: 1n, sessionUsage: usage } },
      [['session.usage.updated', usageJson]],
    ],
    [{ case: 'stepEnded', value: { messageId: 'msg_2' } }, []],
    [
      { case: 'stepFailed', value: { messageId: 'msg_2', error, usage, sessionUsage: usage } },
      [['session.usage.updated', usageJson]],
    ],
    [{ case: 'stepFailed', value: { messageId: 'msg_2', error } }, []],
    [
      { case: 'usageRecorded', value: { source: 'title', costNanos: 1n, sessionUsage: usage } },
      [['session.usage.updated', usageJson]],
    ],
    [{ case: 'usageRecorded', value: { source: 'title', costNanos: 1n } }, []],
    [{ case: 'inboxDelivered', value: { messageId: 'msg_1' } }, []],
  ]
  for (const [event, expected] of cases) {
    const base = { eventId: 'evt_1', sessionId: 'ses_1', directory: '/work', createTime: 7, seq: 3 }
    const live = fromEventLive(create(SessionEventSchema, { ...base, event } as Init), () => 'evt_new')
    const common = { id: 'evt_new', created: 7, location: { directory: '/work' } }
    assert.deepEqual(
      JSON.parse(JSON.stringify(live)),
      expected.map(([type, data]) => ({ ...common, type, data: { sessionID: 'ses_1', ...(data as object) } })),
    )
  }
})

test('a durable event has its position in the session, a volatile one has none', () => {
  const base = {
    eventId: 'evt_1',
    createTime: 1_234,
    sessionId: 'ses_1',
    directory: '/work',
    event: { case: 'executionStarted', value: {} },
  } as const
  const common = {
    id: 'evt_1',
    created: 1_234,
    type: 'session.execution.started',
    location: { directory: '/work' },
    data: { sessionID: 'ses_1' },
  }
  const durable = { aggregateID: 'ses_1', seq: 9, version: 1 }
  assert.deepEqual(whole({ ...base, seq: 9, position: '12' }), { ...common, durable })
  assert.deepEqual(whole(base), common)
})

test('an event of a kind that only a newer service knows is skipped', () => {
  assert.equal(whole({ sessionId: 'ses_1' }), undefined)
  const event = { case: 'inboxEnqueued', value: { item: { messageId: 'msg_1' } } } as const
  assert.equal(whole({ sessionId: 'ses_1', createTime: 7, event }), undefined)
})

test('each kind of event has its name and its data', () => {
  const session = {
    sessionId: 'ses_1',
    projectId: 'global',
    directory: '/work',
    title: 'T',
    model,
    metadata: { a: 1 },
    permissions: { rules: [{ action: 'read', resource: '*', effect: 1 }] },
  }
  const payload = { case: 'prompt', value: { text: 'Hi' } } as const
  const item = { messageId: 'msg_1', payload, delivery: Delivery.QUEUE }
  const location = { directory: '/other', projectId: 'global', subpath: 'a' }
  const locationJson = { location: { directory: '/other' }, projectID: 'global', subpath: 'a' }
  const synthetic = { text: 'Hi', description: 'D', metadata: { a: 1 } }
  const tokens = { input: 1, output: 2 }
  const request = {
    requestId: 'per_1',
    sessionId: 'ses_1',
    action: 'edit',
    resources: ['a'],
    savePatterns: ['*'],
    messageId: 'msg_2',
    callId: 'call_1',
  }
  const cases: [Init['event'], string, unknown][] = [
    [
      { case: 'sessionCreated', value: { session } },
      'session.created',
      {
        projectID: 'global',
        location: { directory: '/work' },
        subpath: '',
        slug: 'ses_1',
        title: 'T',
        model: modelJson,
        metadata: { a: 1 },
        permissions: [{ action: 'read', resource: '*', effect: 'allow' }],
        version: '1',
      },
    ],
    [{ case: 'agentSelected', value: { agent: 'plan' } }, 'session.agent.selected', { agent: 'plan' }],
    [
      { case: 'modelSelected', value: { model, previous: model } },
      'session.model.selected',
      { model: modelJson, previous: modelJson },
    ],
    [
      { case: 'inboxEnqueued', value: { item } },
      'session.inbox.enqueued',
      { inboxID: 'msg_1', item: { type: 'user', payload: { text: 'Hi' }, delivery: 'queue' } },
    ],
    [{ case: 'inboxDelivered', value: { messageId: 'msg_1' } }, 'session.inbox.delivered', { inboxID: 'msg_1' }],
    [{ case: 'inboxCancelled', value: { messageId: 'msg_1' } }, 'session.inbox.cancelled', { inboxID: 'msg_1' }],
    [
      { case: 'inboxDeliveryChanged', value: { messageId: 'msg_1', delivery: Delivery.QUEUE } },
      'session.inbox.delivery.changed',
      { inboxID: 'msg_1', delivery: 'queue' },
    ],
    [{ case: 'syntheticAdded', value: { synthetic } }, 'session.synthetic', synthetic],
    [{ case: 'sessionMoved', value: { location } }, 'session.moved', locationJson],
    [{ case: 'executionEnded', value: { outcome: Outcome.SUCCEEDED } }, 'session.execution.succeeded', {}],
    [{ case: 'executionEnded', value: { outcome: Outcome.FAILED, error } }, 'session.execution.failed', { error }],
    [
      { case: 'executionEnded', value: { outcome: Outcome.INTERRUPTED, reason: 'user' } },
      'session.execution.interrupted',
      { reason: 'user' },
    ],
    [
      { case: 'stepStarted', value: { messageId: 'msg_2', agent: 'build', model } },
      'session.step.started',
      { ...step, agent: 'build', model: modelJson, started: 7 },
    ],
    [{ case: 'stepStreamed', value: { messageId: 'msg_2' } }, 'session.step.streamed', step],
    [
      { case: 'stepEnded', value: { messageId: 'msg_2', finish: 'stop', costNanos: 2_000_000_000n, tokens } },
      'session.step.ended',
      {
        ...step,
        finish: 'stop',
        cost: 2,
        tokens: { input: 1, output: 2, reasoning: 0, cache: { read: 0, write: 0 } },
      },
    ],
    [{ case: 'stepFailed', value: { messageId: 'msg_2', error } }, 'session.step.failed', { ...step, error }],
    [
      { case: 'stepFailed', value: { messageId: 'msg_2', error, finish: 'tool-calls', usage } },
      'session.step.failed',
      { ...step, error, finish: 'tool-calls', ...usageJson },
    ],
    [{ case: 'stepRetried', value: { messageId: 'msg_2' } }, 'session.status', { status: { type: 'busy' } }],
    [
      {
        case: 'retryScheduled',
        value: { messageId: 'msg_2', retry: { attempt: 1, startTime: 5, error } },
      },
      'session.retry.scheduled',
      { ...step, attempt: 1, at: 5, error },
    ],
    [{ case: 'partStarted', value: { part: text } }, 'session.text.started', { ...step, ordinal: 1 }],
    [
      { case: 'partExtended', value: { part: text, delta: 'a' } },
      'session.text.delta',
      { ...step, ordinal: 1, delta: 'a' },
    ],
    [
      { case: 'partEnded', value: { part: text, text: 'ab' } },
      'session.text.ended',
      { ...step, ordinal: 1, text: 'ab' },
    ],
    [
      { case: 'partExtended', value: { part: reasoning, delta: 'h' } },
      'session.reasoning.delta',
      { ...step, ordinal: 0, delta: 'h' },
    ],
    [
      { case: 'partEnded', value: { part: reasoning, text: 'hm', state: { signature: 's' } } },
      'session.reasoning.ended',
      { ...step, ordinal: 0, text: 'hm', state: { signature: 's' } },
    ],
    [
      { case: 'partStarted', value: { part: input } },
      'session.tool.input.started',
      { ...step, id: 'call_1', name: 'read' },
    ],
    [
      { case: 'partEnded', value: { part: input, text: '{}' } },
      'session.tool.input.ended',
      { ...step, id: 'call_1', text: '{}' },
    ],
    [
      { case: 'toolCalled', value: { ...call, input: { path: 'a' } } },
      'session.tool.called',
      { ...step, id: 'call_1', input: { path: 'a' }, executed: false },
    ],
    [
      { case: 'toolProgressed', value: { ...call, metadata: { n: 1 } } },
      'session.tool.progress',
      { ...step, id: 'call_1', metadata: { n: 1 } },
    ],
    [
      { case: 'toolSucceeded', value: { ...call, content: [{ content: { case: 'text', value: 'x' } }] } },
      'session.tool.success',
      { ...step, id: 'call_1', content: [{ type: 'text', text: 'x' }], executed: false },
    ],
    [
      { case: 'toolFailed', value: { ...call, error } },
      'session.tool.failed',
      { ...step, id: 'call_1', error, executed: false },
    ],
    [
      { case: 'permissionAsked', value: { request } },
      'permission.asked',
      {
        id: 'per_1',
        action: 'edit',
        resources: ['a'],
        save: ['*'],
        source: { type: 'tool', messageID: 'msg_2', id: 'call_1' },
      },
    ],
    [
      { case: 'permissionReplied', value: { requestId: 'per_1', reply: PermissionReply.ALWAYS } },
      'permission.replied',
      { requestID: 'per_1', reply: 'always' },
    ],
  ]
  for (const [event, type, data] of cases) assert.deepEqual(shown(event), [type, data])
})
