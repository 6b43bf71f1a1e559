import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type AssistantPartSchema, AssistantTool_State, MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { fromMessage } from './message.ts'

type Init = MessageInitShape<typeof MessageSchema>

const model = { modelId: 'echo', providerId: 'portico' }

/** The message as a client gets it: through JSON, so that what is undefined is gone. */
const json = (kind: Init['kind']): unknown =>
  JSON.parse(
    JSON.stringify(fromMessage(create(MessageSchema, { messageId: 'msg_1', createTime: 1_000, kind } as Init))),
  )

const head = { id: 'msg_1', time: { created: 1_000 } }

test('a user message has its text and, when given, files, agents and metadata', () => {
  assert.deepEqual(json({ case: 'user', value: { text: 'Hi' } }), { ...head, type: 'user', text: 'Hi' })
  const whole = json({
    case: 'user',
    value: {
      text: 'See @a.txt and @plan',
      files: [
        { source: { case: 'data', value: Buffer.from('abc') }, mime: 'text/plain' },
        {
          source: { case: 'data', value: Buffer.from('ü') },
          mime: 'text/plain',
          uri: 'file:///a.txt',
          name: 'a.txt',
          description: 'A file',
          mention: { start: 4, end: 10, text: '@a.txt' },
        },
      ],
      agents: [{ name: 'plan', mention: { start: 15, end: 20, text: '@plan' } }],
      metadata: { a: [1, null] },
    },
  })
  assert.deepEqual(whole, {
    ...head,
    type: 'user',
    text: 'See @a.txt and @plan',
    files: [
      { data: 'YWJj', mime: 'text/plain', source: { type: 'inline' } },
      {
        data: 'w7w=',
        mime: 'text/plain',
        source: { type: 'uri', uri: 'file:///a.txt' },
        name: 'a.txt',
        description: 'A file',
        mention: { start: 4, end: 10, text: '@a.txt' },
      },
    ],
    agents: [{ name: 'plan', mention: { start: 15, end: 20, text: '@plan' } }],
    metadata: { a: [1, null] },
  })
})

test('a step that runs has no finish, cost, tokens or completed time', () => {
  assert.deepEqual(json({ case: 'assistant', value: { agent: 'build', model } }), {
    ...head,
    type: 'assistant',
    agent: 'build',
    model: { id: 'echo', providerID: 'portico' },
    content: [],
  })
})

test('a step shows each part, and each state of a tool call', () => {
  const call = { callId: 'call_1', name: 'read', createTime: 1_100 }
  const error = { type: 'aborted', message: 'The owner died' }
  const parts: MessageInitShape<typeof AssistantPartSchema>[] = [
    { part: { case: 'text', value: { text: 'Hello' } } },
    {
      part: {
        case: 'reasoning',
        value: { text: 'Hm', state: { s: 1 }, createTime: 1_010, completeTime: 1_020 },
      },
    },
    { part: { case: 'tool', value: { ...call, state: AssistantTool_State.STREAMING, rawInput: '{"pa' } } },
    {
      part: {
        case: 'tool',
        value: { ...call, state: AssistantTool_State.RUNNING, input: { path: 'a' }, runTime: 1_200 },
      },
    },
    {
      part: {
        case: 'tool',
        value: {
          ...call,
          state: AssistantTool_State.COMPLETED,
          input: { path: 'a' },
          content: [
            { content: { case: 'text', value: 'abc' } },
            {
              content: {
                case: 'file',
                value: { source: { case: 'data', value: Buffer.from('x') }, mime: 'image/png', name: 'x.png' },
              },
            },
          ],
          metadata: { lines: 3 },
          runTime: 1_200,
          completeTime: 1_300,
        },
      },
    },
    {
      part: {
        case: 'tool',
        value: { ...call, state: AssistantTool_State.ERROR, error, completeTime: 1_300 },
      },
    },
  ]
  const value = {
    agent: 'build',
    model: { ...model, variant: 'high' },
    parts,
    finish: 'tool-calls',
    rawFinish: 'tool_use',
    costNanos: 1_500_000n,
    tokens: { input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5 },
    error: { type: 'provider.internal', message: 'Bad', status: 502 },
    streamTime: 1_250,
    completeTime: 1_400,
    retry: { attempt: 2, startTime: 2_000, error },
  }
  const tool = { type: 'tool', id: 'call_1', name: 'read' }
  assert.deepEqual(json({ case: 'assistant', value }), {
    id: 'msg_1',
    type: 'assistant',
    time: { created: 1_000, streamed: 1_250, completed: 1_400 },
    agent: 'build',
    model: { id: 'echo', providerID: 'portico', variant: 'high' },
    content: [
      { type: 'text', text: 'Hello' },
      { type: 'reasoning', text: 'Hm', state: { s: 1 }, time: { created: 1_010, completed: 1_020 } },
      { ...tool, state: { status: 'streaming', input: '{"pa' }, time: { created: 1_100 } },
      {
        ...tool,
        state: { status: 'running', input: { path: 'a' }, metadata: {} },
        time: { created: 1_100, ran: 1_200 },
      },
      {
        ...tool,
        state: {
          status: 'completed',
          input: { path: 'a' },
          content: [
            { type: 'text', text: 'abc' },
            { type: 'file', uri: 'data:image/png;base64,eA==', mime: 'image/png', name: 'x.png' },
          ],
          metadata: { lines: 3 },
        },
        time: { created: 1_100, ran: 1_200, completed: 1_300 },
      },
      { ...tool, state: { status: 'error', input: {}, error }, time: { created: 1_100, completed: 1_300 } },
    ],
    finish: 'tool-calls',
    rawFinish: 'tool_use',
    cost: 0.0015,
    tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
    error: { type: 'provider.internal', message: 'Bad', status: 502 },
    retry: { attempt: 2, at: 2_000, error },
  })
})

test('selections and ends of runs are messages of their own', () => {
  assert.deepEqual(json({ case: 'agentSwitched', value: { agent: 'plan' } }), {
    ...head,
    type: 'agent-switched',
    agent: 'plan',
  })
  assert.deepEqual(json({ case: 'agentSwitched', value: { agent: 'plan', previous: 'build' } }), {
    ...head,
    type: 'agent-switched',
    agent: 'plan',
    previous: 'build',
  })
  assert.deepEqual(json({ case: 'modelSwitched', value: { model, previous: { ...model, variant: 'v' } } }), {
    ...head,
    type: 'model-switched',
    model: { id: 'echo', providerID: 'portico' },
    previous: { id: 'echo', providerID: 'portico', variant: 'v' },
  })
  assert.deepEqual(json({ case: 'idle', value: { outcome: Outcome.SUCCEEDED } }), {
    ...head,
    type: 'idle',
    outcome: 'succeeded',
  })
  const error = { type: 'provider.internal', message: 'Bad' }
  assert.deepEqual(json({ case: 'idle', value: { outcome: Outcome.FAILED, error } }), {
    ...head,
    type: 'idle',
    outcome: 'failed',
    error,
  })
})
