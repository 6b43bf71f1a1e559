import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { CallOptions, Client, ServiceImpl } from '@connectrpc/connect'
import { Code } from '@connectrpc/connect'
import { PermissionRule_Effect as Effect, Agent_Mode as Mode } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  CatalogService,
  type RunToolRequest,
  type RunToolResponseSchema,
} from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { FinishReason, type GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEventSchema,
  InferenceService,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import type { AssistantMessage, AssistantTool, Message } from '#gen/portico/session/v1/message_pb.js'
import type { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { type PromptSessionRequestSchema, SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type Config, readConfig } from '#services/session/config.ts'
import { open } from '#services/session/open.ts'
import type { Pause } from '#services/session/run/pause.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { callOptions, type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { connectLocal, silentLogger } from '#test/support/transports.ts'

type GenerationEvent = MessageInitShape<typeof GenerationEventSchema>
type ToolResponse = MessageInitShape<typeof RunToolResponseSchema>

/** What the scripted model does when it is asked: one item is what comes at once. */
export type Turn = (request: GenerationRequest, signal: AbortSignal) => AsyncIterable<GenerationEvent[]>

/** What a scripted tool does. */
export type ToolScript = (request: RunToolRequest, signal: AbortSignal) => AsyncIterable<ToolResponse>

/** The catalog and the model that sessions of a test talk to, and what they were asked. */
export interface Peers {
  /** What the model does next, in order; when nothing is left it says "Done." */
  readonly turns: Turn[]
  /** What tools do, by name; a tool that is not here does not exist. */
  readonly tools: Record<string, ToolScript>
  /** Rules of the agent, beside `* allow`. */
  readonly rules: { action: string; resource: string; effect: Effect }[]
  /** Agents that others may call, which have the same rules. */
  readonly subagents: { agentId: string; mode?: Mode; description?: string }[]
  /** Steps of the agent; 0: no limit. */
  steps: number | undefined
  /** Tokens of the model's context; undefined: nobody knows. */
  contextLength: number | undefined
  /** Whether there is an agent that finds titles. */
  titles: boolean
  /** Whether plugins or MCP servers do all calls. */
  external: boolean
  readonly requests: GenerationRequest[]
  readonly principals: Principal[]
  /** Calls that were started, by the id that the catalog got. */
  readonly started: string[]
  /** Fences of the calls that were started. */
  readonly fences: bigint[]
  /** Fences that EndTools was called with. */
  readonly ended: bigint[]
  /** Called before PrepareTool answers. */
  onPrepare: () => Promise<void>
  /** Called before EndTools answers. */
  onEnd: () => Promise<void>
  readonly catalog: Routes
  readonly inference: Routes
}

/** Peers with a tool `look` that answers `seen`. */
export function scriptedPeers(): Peers {
  const peers = {
    turns: [] as Turn[],
    tools: { look: says('seen') } as Record<string, ToolScript>,
    rules: [] as Peers['rules'],
    subagents: [] as Peers['subagents'],
    steps: undefined as number | undefined,
    contextLength: undefined as number | undefined,
    titles: false,
    external: false,
    requests: [] as GenerationRequest[],
    principals: [] as Principal[],
    started: [] as string[],
    fences: [] as bigint[],
    ended: [] as bigint[],
    onPrepare: async () => {},
    onEnd: async () => {},
  }
  const reasons = {
    AGENT_NOT_FOUND: { code: Code.NotFound, message: 'no agent' },
    TOOL_NOT_FOUND: { code: Code.NotFound, message: 'no tool' },
    TOOL_UNAVAILABLE: { code: Code.FailedPrecondition, message: 'gone' },
    PROVIDER_UNAVAILABLE: { code: Code.Unavailable, message: 'away' },
    PROVIDER_RATE_LIMITED: { code: Code.ResourceExhausted, message: 'slow down' },
    PROVIDER_REFUSED: { code: Code.FailedPrecondition, message: 'refused' },
    CREDIT_INSUFFICIENT: { code: Code.FailedPrecondition, message: 'too dear' },
    RATE_LIMITED: { code: Code.ResourceExhausted, message: 'too fast' },
    CREDENTIAL_REFUSED: { code: Code.Unauthenticated, message: 'no' },
    PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'nobody' },
  }
  const catalog: Partial<ServiceImpl<typeof CatalogService>> = {
    resolveLocation: async ({ directory = '/project' }) => ({
      location: { directory, project: { projectId: 'global' } },
    }),
    listHooks: async () => ({}),
    readAttachment: async ({ uri }) => ({ data: Buffer.from(uri), mime: 'image/png' }),
    getAgent: async ({ agentId }) => {
      // Titles would be asked for beside the turns of a script.
      if (agentId === 'nobody' || (agentId === 'title' && !peers.titles))
        throw new Rejection('AGENT_NOT_FOUND', { agent_id: agentId })
      const permissions = [{ action: '*', resource: '*', effect: Effect.ALLOW }, ...peers.rules]
      return { agent: { agentId: agentId ?? 'build', permissions, steps: peers.steps } }
    },
    listAgents: async () => ({ agents: peers.subagents.map((agent) => ({ mode: Mode.SUBAGENT, ...agent })) }),
    reloadLocations: async () => ({}),
    listTools: async () => ({ tools: Object.keys(peers.tools).map((name) => ({ name, inputSchema: {} })) }),
    prepareTool: async ({ name, input }) => {
      if (peers.tools[name] === undefined) throw new Rejection('TOOL_NOT_FOUND', { name })
      await peers.onPrepare()
      const path = String(input?.path ?? '.')
      return { accesses: [{ action: name, resources: [path] }], savePatterns: [`${path}*`], external: peers.external }
    },
    runTool: (request, context) => {
      peers.started.push(request.callId)
      peers.fences.push(request.fence)
      return (peers.tools[request.name] as ToolScript)(request, context.signal)
    },
    endTools: async ({ fence }) => {
      peers.ended.push(fence)
      await peers.onEnd()
      return {}
    },
  }
  const inference: Partial<ServiceImpl<typeof InferenceService>> = {
    listModels: async () => ({
      defaultModel: 'test/model',
      models:
        peers.contextLength === undefined ? [] : [{ name: 'test/model', contextLength: BigInt(peers.contextLength) }],
    }),
    async *streamGenerate({ generation: request }, context) {
      assert.ok(request)
      peers.requests.push(request)
      peers.principals.push(principalOf(context))
      const turn = peers.turns.shift() ?? text('Done.')
      for await (const events of turn(request, context.signal)) yield { events }
    },
  }
  return Object.assign(peers, {
    catalog: { domain: 'catalog', reasons, services: [route(CatalogService, catalog as never)] },
    inference: { domain: 'inference', reasons, services: [route(InferenceService, inference as never)] },
  })
}

/** A session service over real stores, with peers that follow a script. */
export interface SessionFixture extends AsyncDisposable {
  readonly routes: Routes
  readonly client: Client<typeof SessionService>
  readonly peers: Peers
  readonly directory: string
  /** What was waited for before something was tried again, in milliseconds. */
  readonly pauses: number[]
  /** Makes a session, `ses_1` where no other is named. */
  create(id?: string, agent?: string): Promise<void>
  prompt(text: string, more?: MessageInitShape<typeof PromptSessionRequestSchema>): Promise<void>
  /** Waits until nothing runs in the session or is due to; fails after a minute. */
  wait(id?: string): Promise<void>
  messages(id?: string): Promise<Message[]>
  steps(id?: string): Promise<AssistantMessage[]>
  calls(id?: string): Promise<AssistantTool[]>
  outcome(id?: string): Promise<Outcome | undefined>
}

export const key: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' }

/** Options of a call by a key of workspace `wrk_1`. */
export const asKey: CallOptions = callOptions({ principal: key, requestId: 'req_1' })

const WAIT_MS = 60_000
const HOUR_MS = 3_600_000

/**
 * Opens the service. In a directory of somebody else's it leaves the files there. Leases last for an hour, and nobody looks
 * for anything before that: what happens does so because somebody was notified.
 */
export async function openSessionService(
  options: Partial<Config> & {
    peers?: Peers
    clock?: Clock
    logger?: Logger
    directory?: string
    pause?: Pause
    pollMs?: number
  } = {},
): Promise<SessionFixture> {
  const {
    peers = scriptedPeers(),
    clock = systemClock,
    logger = silentLogger,
    directory: given,
    pause = noPause,
    pollMs = HOUR_MS,
    ...config
  } = options
  const directory = given ?? (await mkdtemp(join(tmpdir(), 'portico-session-')))
  await using opening = new AsyncDisposableStack()
  if (given === undefined) opening.defer(() => rm(directory, { recursive: true }))
  const catalog = opening.use(await connectLocal(peers.catalog))
  const inference = opening.use(await connectLocal(peers.inference))
  const pauses: number[] = []
  const service = opening.use(
    await open(
      { ...readConfig({ PORTICO_DATA_DIR: directory }), leaseMs: HOUR_MS, ...config },
      {
        clock,
        logger,
        catalog: catalog.transport,
        inference: inference.transport,
        pollMs,
        pause: (ms, signal) => {
          pauses.push(ms)
          return pause(ms, signal)
        },
      },
    ),
  )
  const local = opening.use(await connectLocal(service.routes))
  const client = createClient(SessionService, local.transport)
  const resources = opening.move()
  const messages = async (sessionId = 'ses_1', pageToken?: string): Promise<Message[]> => {
    const page = await client.listMessages({ sessionId, order: 2, pageSize: 200, pageToken }, asKey)
    return page.nextPageToken === undefined
      ? page.messages
      : [...page.messages, ...(await messages(sessionId, page.nextPageToken))]
  }
  const steps = async (id?: string): Promise<AssistantMessage[]> =>
    (await messages(id)).flatMap(({ kind }) => (kind.case === 'assistant' ? [kind.value] : []))
  let prompts = 0
  return {
    routes: service.routes,
    client,
    peers,
    directory,
    pauses,
    messages,
    steps,
    create: async (sessionId = 'ses_1', agent?: string) => {
      await client.createSession({ sessionId, agent, title: 'Test', directory: '/project' }, asKey)
    },
    prompt: async (text, more = {}) => {
      prompts++
      await client.promptSession({ sessionId: 'ses_1', messageId: `msg_${prompts}`, text, ...more }, asKey)
    },
    wait: async (sessionId = 'ses_1') => {
      await client.waitSession({ sessionId }, { ...asKey, timeoutMs: WAIT_MS }).catch((cause: unknown) => {
        throw new Error(`waited in vain: ${sessionId} to come to rest`, { cause })
      })
    },
    calls: async (id) =>
      (await steps(id)).flatMap(({ parts }) => parts.flatMap(({ part }) => (part.case === 'tool' ? [part.value] : []))),
    outcome: async (sessionId = 'ses_1') => (await client.getSession({ sessionId }, asKey)).session?.outcome,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const noPause: Pause = async (_, signal) => {
  await new Promise((resolve) => setImmediate(resolve))
  signal.throwIfAborted()
}

/** The model says something, word by word. */
export function text(words: string): Turn {
  return async function* () {
    yield [{ event: { case: 'started', value: { model: 'test/model', providerId: 'test' } } }]
    yield* textPart(0, words)
    yield [finished(FinishReason.STOP)]
  }
}

/** The model calls tools. */
export function calls(...wanted: { id: string; name: string; input?: object; raw?: string }[]): Turn {
  return async function* () {
    for (const [index, { id, name, input = {}, raw = JSON.stringify(input) }] of wanted.entries()) {
      yield [started(index, Kind.TOOL_CALL, id, name), extended(index, raw)]
      const part = { part: { case: 'toolCall', value: { callId: id, name, arguments: raw } } } as const
      yield [{ event: { case: 'partEnded', value: { index, part } } }]
    }
    yield [finished(FinishReason.TOOL_CALLS)]
  }
}

/** The model says something, then does nothing until it is stopped. */
export function hangs(words = 'Let me think'): Turn {
  return async function* (_, signal) {
    yield [started(0, Kind.TEXT), extended(0, words)]
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
}

/** The provider fails after some words. */
export function fails(reason: string, metadata: Record<string, string> = {}, words = ''): Turn {
  return async function* () {
    if (words !== '') yield [started(0, Kind.TEXT), extended(0, words)]
    throw new Rejection(reason as AnyReason, metadata)
  }
}

export function* textPart(index: number, words: string): Generator<GenerationEvent[]> {
  yield [started(index, Kind.TEXT)]
  for (const word of words.split(/(?<= )/)) yield [extended(index, word)]
  yield [{ event: { case: 'partEnded', value: { index, part: { part: { case: 'text', value: { text: words } } } } } }]
}

export function started(index: number, kind: Kind, callId = '', toolName = ''): GenerationEvent {
  return { event: { case: 'partStarted', value: { index, kind, callId, toolName } } }
}

export function extended(index: number, more: string): GenerationEvent {
  return { event: { case: 'partExtended', value: { index, text: more } } }
}

/** The end of a generation that used 10 input (2 cached) and 5 output tokens (1 of thought) for 7 nano-dollars. */
export function finished(reason: FinishReason): GenerationEvent {
  const usage = { inputTokens: 10n, outputTokens: 5n, cacheReadTokens: 2n, cacheWriteTokens: 0n, reasoningTokens: 1n }
  return { event: { case: 'finished', value: { reason, rawReason: 'raw', usage, costNanos: 7n } } }
}

/** A tool that answers a text. */
export function says(answer: string): ToolScript {
  return async function* () {
    yield { event: { case: 'completed', value: { content: [{ content: { case: 'text', value: answer } }] } } }
  }
}

/** A tool that runs until it is stopped; `running` resolves when it has begun. */
export function hangingTool(): { readonly script: ToolScript; readonly running: Promise<void>; aborted: boolean } {
  const begun = Promise.withResolvers<void>()
  const tool = {
    running: begun.promise,
    aborted: false,
    script: async function* (_: RunToolRequest, signal: AbortSignal): AsyncGenerator<ToolResponse> {
      yield { event: { case: 'progressed', value: { metadata: { percent: 10 } } } }
      begun.resolve()
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          tool.aborted = true
          reject(signal.reason)
        })
      })
    },
  }
  return tool
}

/** Collects events of `wrk_1` until one is of the kind; the stream stands when the answer is there. */
export async function eventsUntil(
  client: Client<typeof SessionService>,
  last: SessionEvent['event']['case'],
): Promise<{ readonly events: Promise<SessionEvent[]> }> {
  const stream = client.streamEvents({}, callOptions({ principal: key }))[Symbol.asyncIterator]()
  await stream.next()
  const collect = async (): Promise<SessionEvent[]> => {
    const events: SessionEvent[] = []
    for (;;) {
      const { value } = await stream.next()
      if (value?.message.case !== 'event') throw new Error('The stream ended')
      events.push(value.message.value)
      if (value.message.value.event.case !== last) continue
      await stream.return?.()
      return events
    }
  }
  return { events: collect() }
}
