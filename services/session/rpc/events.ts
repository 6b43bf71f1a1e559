import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { SessionEvent, ToolFailed, ToolSucceeded } from '#gen/portico/session/v1/event_pb.js'
import { EventsMissedSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { ownTurn } from '#shared/own-turn.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import type { LogEvent, VolatileEvent } from '../domain/event.ts'
import { blobsIn } from '../domain/message.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import { readSessionLog } from '../run/events/session-log.ts'
import { type BlobContents, findContents, withContent } from './blob-contents.ts'
import type { SessionDependencies } from './dependencies.ts'

const MISSED = create(EventsMissedSchema)

export function eventHandlers(dependencies: SessionDependencies) {
  const { hub, blobs } = dependencies
  const files = new EventFiles(blobs)
  return {
    /** Streams events of the principal's workspace, until the caller leaves or the server stops (SERVICE_CLOSING). */
    async *streamEvents({ position, sessionId, directory }, context) {
      const { workspaceId } = principalOf(context)
      const draining = drainSignalOf(context)
      const signal = AbortSignal.any([context.signal, draining])
      for await (const item of hub.subscribe(workspaceId, position, signal, { sessionId, directory })) {
        if (item.type === 'ready') yield { message: { case: 'connected', value: { position: item.position } } }
        else if (item.type === 'missed') yield { message: { case: 'missed', value: MISSED } }
        else if (item.type === 'caught-up') yield { message: { case: 'caughtUp', value: { position: item.position } } }
        else {
          const value = await files.add(item.event)
          if (value !== undefined) yield { message: { case: 'event', value } }
        }
      }
      draining.throwIfAborted()
    },
    /**
     * Streams the log of one session, until its end, or until the caller leaves or the server stops (SERVICE_CLOSING).
     */
    async *streamSessionLog({ sessionId, afterSeq = 0, follow }, context) {
      const { workspaceId: workspace } = principalOf(context)
      check(Number.isSafeInteger(afterSeq) && afterSeq >= 0, 'after_seq', 'must be the number of an event, or 0')
      const draining = drainSignalOf(context)
      const signal = AbortSignal.any([context.signal, draining])
      const query = { workspace, sessionId, afterSeq, follow }
      for await (const item of readSessionLog(dependencies, query, signal)) {
        if (item.type === 'missed') yield { message: { case: 'missed', value: MISSED } }
        else if (item.type === 'synced') yield { message: { case: 'synced', value: { seq: item.seq } } }
        else {
          const value = await files.add(item.event)
          if (value !== undefined) yield { message: { case: 'event', value } }
        }
      }
      draining.throwIfAborted()
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

/**
 * Makes the message of each event with files once for all streams. Their content is not to be kept for as long as the
 * event: the message is shared while somebody has it.
 */
class EventFiles {
  readonly #blobs: Pick<BlobStore, 'get'>
  readonly #made = new WeakMap<LogEvent | VolatileEvent, WeakRef<SessionEvent>>()
  readonly #reading = new WeakMap<LogEvent | VolatileEvent, Promise<SessionEvent | undefined>>()

  constructor(blobs: Pick<BlobStore, 'get'>) {
    this.#blobs = blobs
  }

  /** The event with the content of its files; undefined if that was removed with its session. */
  async add(event: LogEvent | VolatileEvent): Promise<SessionEvent | undefined> {
    const refs = blobsOf(event)
    if (refs.length === 0) return event
    const made = this.#made.get(event)?.deref()
    if (made !== undefined) return made
    const begun = this.#reading.get(event)
    if (begun !== undefined) return begun
    const reading = this.#read(event, refs).finally(() => this.#reading.delete(event))
    this.#reading.set(event, reading)
    return reading
  }

  async #read(event: LogEvent | VolatileEvent, refs: readonly BlobRef[]): Promise<SessionEvent | undefined> {
    await ownTurn()
    const { contents, missing } = await findContents(this.#blobs, event.workspace, refs)
    if (missing !== undefined) return undefined
    const message = withFiles(event, contents)
    this.#made.set(event, new WeakRef(message))
    return message
  }
}

/** The blobs that an event refers to and is sent with. */
function blobsOf({ event }: SessionEvent): readonly BlobRef[] {
  return event.case === 'toolSucceeded' || event.case === 'toolFailed' ? blobsIn(event.value.content) : []
}

function withFiles(whole: SessionEvent, blobs: BlobContents): SessionEvent {
  const { event } = whole
  const filled = <T extends ToolSucceeded | ToolFailed>(value: T): T => {
    return { ...value, content: value.content.map((piece) => withContent(piece, blobs)) }
  }
  switch (event.case) {
    case 'toolSucceeded':
      return { ...whole, event: { ...event, value: filled(event.value) } }
    case 'toolFailed':
      return { ...whole, event: { ...event, value: filled(event.value) } }
    default:
      return whole
  }
}
