import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { CallOptions, Client } from '@connectrpc/connect'
import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import type { AssistantMessage, AssistantTool, Message } from '#gen/portico/session/v1/message_pb.js'
import type { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { type PromptSessionRequestSchema, SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type Config, readConfig } from '#services/session/config.ts'
import { open, storeSchema } from '#services/session/open.ts'
import type { Pause } from '#services/session/run/pause.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { writeEmptyStores } from '#test/support/empty-stores.ts'
import { type Peers, scriptedPeers } from '#test/support/session-peers.ts'
import { connectLocal, silentLogger } from '#test/support/transports.ts'

/** A session service over real stores, with peers that follow a script. */
export interface SessionFixture extends AsyncDisposable {
  readonly routes: Routes
  readonly client: Client<typeof SessionService>
  readonly peers: Peers
  readonly directory: string
  /** The pauses before retries, in milliseconds. */
  readonly pauses: number[]
  /** Creates a session, `ses_1` by default. */
  create(id?: string, agent?: string): Promise<void>
  prompt(text: string, more?: MessageInitShape<typeof PromptSessionRequestSchema>): Promise<void>
  /** Waits until the session is idle; fails after five minutes. */
  wait(id?: string): Promise<void>
  messages(id?: string): Promise<Message[]>
  steps(id?: string): Promise<AssistantMessage[]>
  calls(id?: string): Promise<AssistantTool[]>
  outcome(id?: string): Promise<Outcome | undefined>
}

export const key: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' }

/** Options of a call by a key of workspace `wrk_1`. */
export const asKey: CallOptions = callOptions({ principal: key, requestId: 'req_1' })

const WAIT_MS = 300_000
const HOUR_MS = 3_600_000

/**
 * Opens the service; the files of a given directory stay. Leases and polls take an hour, so whatever happens in a test
 * happens because of a notification.
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
  if (given === undefined) {
    opening.defer(() => rm(directory, { recursive: true }))
    await writeEmptyStores(directory, storeSchema)
  }
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

/** Opens a stream of events of `wrk_1`, then collects them up to the first one of the kind. */
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
