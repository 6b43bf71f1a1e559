import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type BlobRef,
  ModelRefSchema,
  type ToolContent,
  ToolContentSchema,
  type ToolFileSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  Compaction_Status,
  type Message,
  ShellCommand_Status,
  AssistantTool_State as State,
  StructuredErrorSchema,
} from '#gen/portico/session/v1/message_pb.js'
import { Outcome, SessionLocationSchema, TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import { textResult } from '#services/session/domain/generation/call-outcome.ts'
import { isInput, messageOf } from '#services/session/domain/message.ts'
import type { JsonObject } from '#shared/json.ts'
import { stepPart } from './step-part.ts'

/** A file that a tool returns. */
export function fileResult(
  source: MessageInitShape<typeof ToolFileSchema>['source'],
  mime: string,
  name?: string,
): ToolContent {
  return create(ToolContentSchema, { content: { case: 'file', value: { source, mime, name } } })
}

/** Messages of every kind, with every member, as the session service has them; `blob` is the content of each file. */
export function everyMessage(blob: Pick<BlobRef, 'hash' | 'size'>): Message[] {
  const head = (n: number) => ({ messageId: `msg_every_${n}`, createTime: 1_000 + n })
  const noteOf = (n: number) => ({ note: `n${n}` })
  const model = create(ModelRefSchema, { providerId: 'acme', modelId: 'large', variant: 'high' })
  const error = create(StructuredErrorSchema, {
    type: 'provider.internal',
    message: 'It broke',
    status: 502,
    responseBody: '{"oops":true}',
  })
  const tokens = create(TokenUsageSchema, { input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5 })
  const source = { case: 'blob', value: blob } as const
  const mention = { start: 0, end: 5, text: '@file' }
  const tool = { name: 'bash', input: { command: 'ls' }, metadata: { exit: 0 } }
  const times = { createTime: 2_000, runTime: 2_001, completeTime: 2_002 }
  const [here, there] = [
    create(SessionLocationSchema, { directory: '/here', projectId: 'p1', subpath: 'a' }),
    create(SessionLocationSchema, { directory: '/there', projectId: 'p2', subpath: '' }),
  ]
  return [
    messageOf(head(1), 'user', {
      text: 'Hello',
      files: [
        { source, mime: 'image/png', uri: 'file:///a.png', name: 'a.png', description: 'A file', mention },
        { source, mime: 'text/plain' },
      ],
      agents: [{ name: 'plan', mention }],
      skills: [
        { skillId: 'tidy', name: 'Tidy', text: 'Clean up', mention },
        { skillId: 'tidy', name: 'Tidy' },
      ],
      metadata: noteOf(1),
    }),
    messageOf(head(2), 'assistant', {
      agent: 'build',
      model,
      attempt: 1,
      finish: 'stop',
      rawFinish: 'end_turn',
      parts: [
        stepPart('text', { text: 'Hi', state: { signature: 's1' } }),
        stepPart('reasoning', { text: 'Hm', state: { signature: 's2' }, createTime: 1_500, completeTime: 1_600 }),
        stepPart('reasoning', { text: 'Timeless' }),
        stepPart('tool', {
          ...tool,
          ...times,
          callId: 'call_1',
          state: State.COMPLETED,
          executed: true,
          providerState: { a: 1 },
          providerResultState: { b: [2] },
          content: [
            textResult('out'),
            fileResult({ case: 'blob', value: blob }, 'image/png', 'b.png'),
            fileResult({ case: 'uri', value: 'https://example.com/c.png' }, 'image/png'),
          ],
        }),
        stepPart('tool', { ...tool, ...times, callId: 'call_2', state: State.ERROR, error }),
        stepPart('tool', {
          name: 'bash',
          callId: 'call_3',
          state: State.STREAMING,
          rawInput: '{"comm',
          input: {},
          createTime: 2_000,
        }),
        stepPart('tool', { ...tool, callId: 'call_4', state: State.RUNNING, createTime: 2_000, runTime: 2_001 }),
      ],
      costNanos: 1_500_000n,
      tokens,
      error,
      retry: { attempt: 2, startTime: 3_000, error },
      streamTime: 2_003,
      completeTime: 2_004,
      providerState: { response: 'r1' },
      snapshot: { start: 'tree1', end: 'tree2', files: ['src/a.ts'] },
    }),
    messageOf(head(3), 'synthetic', { text: 'Note', description: 'For people', metadata: noteOf(3) }),
    messageOf(head(4), 'system', { text: 'Be brief', description: 'Instructions' }),
    messageOf(head(5), 'skill', { skillId: 'tidy', name: 'Tidy', text: 'Clean up' }),
    messageOf(head(6), 'shell', {
      shellId: 'sh_1',
      command: 'ls',
      status: ShellCommand_Status.EXITED,
      exitCode: -1,
      completeTime: 2_000,
      output: { output: 'a.ts\n', cursor: 5, size: 5 },
    }),
    messageOf(head(7), 'compaction', {
      status: Compaction_Status.COMPLETED,
      manual: true,
      summary: 'All',
      recent: 'Last',
      model,
      providerState: { c: 1 },
      costNanos: 7n,
      tokens,
      providerContext: { version: 1, provenance: { providerID: 'acme' }, messages: [{ role: 'user' }] },
      stepsBefore: 2,
      alone: true,
    }),
    messageOf(head(8), 'compaction', { status: Compaction_Status.FAILED, error, tokens }),
    messageOf(head(9), 'agentSwitched', { agent: 'plan', previous: 'build' }),
    messageOf(head(10), 'modelSwitched', { model, previous: { providerId: 'acme', modelId: 'large' } }),
    messageOf(head(11), 'locationSwitched', { location: here, previous: there }),
    messageOf(head(12), 'locationSwitched', { location: here }),
    messageOf(head(13), 'idle', { outcome: Outcome.FAILED, error, goesOn: true }),
  ].map((message, i) => (isInput(message) ? message : { ...message, metadata: noteOf(i + 1) }))
}

/** The same messages as clients see them; `data` is the content of each file in base64. */
export function everyMessageJson(data: string): JsonObject[] {
  const head = (n: number) => ({ id: `msg_every_${n}`, time: { created: 1_000 + n }, metadata: { note: `n${n}` } })
  const model = { id: 'large', providerID: 'acme', variant: 'high' }
  const error = { type: 'provider.internal', message: 'It broke', status: 502, response: { body: '{"oops":true}' } }
  const tokens = { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }
  const mention = { start: 0, end: 5, text: '@file' }
  const tool = { type: 'tool', name: 'bash' }
  const done = { input: { command: 'ls' }, metadata: { exit: 0 } }
  const times = { created: 2_000, ran: 2_001, completed: 2_002 }
  const [here, there] = [
    { location: { directory: '/here' }, projectID: 'p1', subpath: 'a' },
    { location: { directory: '/there' }, projectID: 'p2', subpath: '' },
  ]
  return [
    {
      ...head(1),
      type: 'user',
      text: 'Hello',
      files: [
        {
          data,
          mime: 'image/png',
          source: { type: 'uri', uri: 'file:///a.png' },

          name: 'a.png',
          description: 'A file',
          mention,
        },
        { data, mime: 'text/plain', source: { type: 'inline' } },
      ],
      agents: [{ name: 'plan', mention }],
      skills: [
        { id: 'tidy', name: 'Tidy', text: 'Clean up', mention },
        { id: 'tidy', name: 'Tidy' },
      ],
    },
    {
      ...head(2),
      type: 'assistant',
      agent: 'build',
      model,
      finish: 'stop',
      rawFinish: 'end_turn',
      time: { created: 1_002, streamed: 2_003, completed: 2_004 },
      content: [
        { type: 'text', text: 'Hi', state: { signature: 's1' } },
        { type: 'reasoning', text: 'Hm', state: { signature: 's2' }, time: { created: 1_500, completed: 1_600 } },
        { type: 'reasoning', text: 'Timeless' },
        {
          ...tool,
          id: 'call_1',
          executed: true,
          providerState: { a: 1 },
          providerResultState: { b: [2] },
          state: {
            status: 'completed',
            ...done,
            content: [
              { type: 'text', text: 'out' },
              { type: 'file', uri: `data:image/png;base64,${data}`, mime: 'image/png', name: 'b.png' },
              { type: 'file', uri: 'https://example.com/c.png', mime: 'image/png' },
            ],
          },
          time: times,
        },
        { ...tool, id: 'call_2', state: { status: 'error', ...done, error }, time: times },
        { ...tool, id: 'call_3', state: { status: 'streaming', input: '{"comm' }, time: { created: 2_000 } },
        { ...tool, id: 'call_4', state: { status: 'running', ...done }, time: { created: 2_000, ran: 2_001 } },
      ],

      cost: 0.0015,
      tokens,
      error,
      retry: { attempt: 2, at: 3_000, error },
      providerState: { response: 'r1' },
      snapshot: { start: 'tree1', end: 'tree2', files: ['src/a.ts'] },
    },
    { ...head(3), type: 'synthetic', text: 'Note', description: 'For people' },
    { ...head(4), type: 'system', text: 'Be brief', description: 'Instructions' },
    { ...head(5), type: 'skill', skill: 'tidy', name: 'Tidy', text: 'Clean up' },
    {
      ...head(6),
      type: 'shell',
      shellID: 'sh_1',
      command: 'ls',
      status: 'exited',
      exit: -1,

      time: { created: 1_006, completed: 2_000 },
      output: { output: 'a.ts\n', cursor: 5, size: 5, truncated: false },
    },
    {
      ...head(7),
      type: 'compaction',
      status: 'completed',
      reason: 'manual',
      summary: 'All',
      recent: 'Last',
      model,

      providerState: { c: 1 },
      cost: 7e-9,
      tokens,
      providerContext: { version: 1, provenance: { providerID: 'acme' }, messages: [{ role: 'user' }] },
    },
    { ...head(8), type: 'compaction', status: 'failed', reason: 'auto', error, tokens },
    { ...head(9), type: 'agent-switched', agent: 'plan', previous: 'build' },
    { ...head(10), type: 'model-switched', model, previous: { id: 'large', providerID: 'acme' } },
    { ...head(11), type: 'location-switched', ...here, previous: there },
    { ...head(12), type: 'location-switched', ...here },
    { ...head(13), type: 'idle', outcome: 'failed', error },
  ]
}
