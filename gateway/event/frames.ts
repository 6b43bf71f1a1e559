import type { StreamEventsResponse as CatalogMessage } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { CatalogEvent } from '#gen/portico/catalog/v1/event_pb.js'
import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import type {
  StreamSessionLogResponse as LogMessage,
  StreamEventsResponse as SessionMessage,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { RETRY_MS } from '../http/sse.ts'
import type { JsonOf } from '../kinds.ts'
import { fromEvent, fromEventLive } from './mappers.ts'
import type { logEntry, event as shown } from './schemas.ts'

const TYPES = {
  agentsUpdated: 'agent.updated',
  skillsUpdated: 'skill.updated',
  locationShutdown: 'location.shutdown',
  pluginsUpdated: 'plugin.updated',
} as const
const MCP_TYPES = { mcpServerUpdated: 'mcp.updated', mcpToolsChanged: 'mcp.tools.changed' } as const

/** Undefined for an event of a kind that only a newer catalog knows. */
function fromCatalogEvent({ eventId, createTime, directory, event }: CatalogEvent): JsonOf<typeof shown> | undefined {
  const head = { id: eventId, created: createTime, location: { directory } }
  switch (event.case) {
    case 'agentsUpdated':
    case 'skillsUpdated':
    case 'locationShutdown':
    case 'pluginsUpdated':
      return { ...head, type: TYPES[event.case], data: {} }
    case 'mcpServerUpdated':
    case 'mcpToolsChanged':
      return { ...head, type: MCP_TYPES[event.case], data: { server: event.value.server } }
    case undefined:
      return undefined
  }
}

/** The encoded form of an event, made once for all clients that receive it. */
export interface Frame {
  /** The client's position afterwards; undefined: it does not change. */
  readonly position?: string | undefined
  /** Empty: clients are sent nothing. A long one is encoded, once for all of them. */
  readonly text: string | Buffer
  /** The session whose event it is. */
  readonly sessionId?: string
  readonly isRemoval?: boolean
  /** Events are missing before it. */
  readonly gap?: boolean
}

const NOTHING: Frame = { text: '' }

/** From how many characters on a frame is long. */
const LONG = 65_536

const longOfLogs = new WeakMap<SessionEvent, Buffer>()

/**
 * What a message of the session service is on the wire. Removals of sessions that are not in the directory of a
 * subscription, if it names one, are not for clients.
 */
export function fromSessionMessage({ message }: SessionMessage, clock: Clock, directory?: string): Frame {
  switch (message.case) {
    case 'connected':
      return connectedFrame(message.value.position, clock)
    case 'missed':
      return missedFrame(clock)
    case 'event': {
      const { position, sessionId, event } = message.value
      const origin = { position, sessionId, isRemoval: event.case === 'sessionDeleted' }
      const isElsewhere = directory !== undefined && directory !== message.value.directory
      const json = isElsewhere ? undefined : fromEvent(message.value)
      if (json === undefined) return { ...origin, text: '' }
      const text = withPosition(position, `data: ${JSON.stringify(json)}\n\n`)
      const live = fromEventLive(message.value, () => timedId('evt', clock))
      const all = live.reduce((before, one) => `${before}data: ${JSON.stringify(one)}\n\n`, text)
      return { ...origin, text: encoded(all) }
    }
    default:
      return NOTHING
  }
}

export function fromCatalogMessage({ message }: CatalogMessage, clock: Clock): Frame {
  if (message.case === 'missed') return missedFrame(clock)
  const json = message.case === 'event' ? fromCatalogEvent(message.value) : undefined
  return json === undefined ? NOTHING : { text: `data: ${JSON.stringify(json)}\n\n` }
}

/** The first frame of a stream that begins behind a position. */
export function connectedFrame(position: string, clock: Clock): Frame {
  return { position, text: withPosition(position, serverEvent('server.connected', {}, clock)) }
}

function missedFrame(clock: Clock): Frame & { readonly text: string } {
  return { text: serverEvent('server.resync', {}, clock), gap: true }
}

/**
 * What a message of a session's log is on the wire: its events are numbered by their place in the session. Those who
 * follow it in the process of the session service get the same events.
 */
export function fromLogMessage({ message }: LogMessage, sessionId: string, clock: Clock): string | Buffer {
  switch (message.case) {
    case 'missed':
      return missedFrame(clock).text
    case 'event': {
      const encodedBefore = longOfLogs.get(message.value)
      if (encodedBefore !== undefined) return encodedBefore
      const json = fromEvent(message.value)
      if (json === undefined) return ''
      const frame = encoded(withPosition(message.value.seq?.toString(), `data: ${JSON.stringify(json)}\n\n`))
      if (typeof frame !== 'string') longOfLogs.set(message.value, frame)
      return frame
    }
    case 'synced': {
      const { seq } = message.value
      const entry: JsonOf<typeof logEntry> = {
        type: 'log.synced',
        aggregateID: sessionId,
        seq,
      }
      return `data: ${JSON.stringify(entry)}\n\n`
    }
    default:
      return ''
  }
}

/** The last frame of a stream that fails. */
export function fromFailure(body: unknown, clock: Clock): string {
  return `retry: ${RETRY_MS}\n${serverEvent('server.error', body, clock)}`
}

function encoded(text: string): string | Buffer {
  return text.length < LONG ? text : Buffer.from(text)
}

/** Volatile events have no position, and leave the client at the one before. */
function withPosition(position: string | undefined, event: string): string {
  return position === undefined ? event : `id: ${position}\n${event}`
}

function serverEvent(type: string, data: unknown, clock: Clock): string {
  return `data: ${JSON.stringify({ id: timedId('evt', clock), created: clock.now(), type, data })}\n\n`
}
