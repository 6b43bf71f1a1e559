import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import { EventsMissedSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { ownTurn } from '#shared/own-turn.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import { readSessionLog } from '../run/events/session-log.ts'
import { findContents, NO_BLOBS } from './blob-contents.ts'
import type { SessionDependencies } from './dependencies.ts'
import { type AnyEvent, blobsOfEvent, eventToProto } from './event-to-proto.ts'

const MISSED = create(EventsMissedSchema)

/** The handlers of streams of events. */
export function eventHandlers(dependencies: SessionDependencies) {
  const { hub, blobs } = dependencies
  const encoder = new EventEncoder(blobs)
  const logEncoder = new EventEncoder(blobs, (event, contents) => eventToProto(unplaced(event), contents))
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
          const value = await encoder.encode(item.event)
          if (value !== undefined) yield { message: { case: 'event', value } }
        }
      }
      draining.throwIfAborted()
    },
    /**
     * Streams the log of one session, until its end, or until the caller leaves or the server stops (SERVICE_CLOSING).
     */
    async *streamSessionLog({ sessionId, afterSeq = 0n, follow }, context) {
      const { workspaceId: workspace } = principalOf(context)
      check(afterSeq >= 0n && afterSeq <= Number.MAX_SAFE_INTEGER, 'after_seq', 'must be the number of an event, or 0')
      const draining = drainSignalOf(context)
      const signal = AbortSignal.any([context.signal, draining])
      const query = { workspace, sessionId, afterSeq: Number(afterSeq), follow }
      for await (const item of readSessionLog(dependencies, query, signal)) {
        if (item.type === 'missed') yield { message: { case: 'missed', value: MISSED } }
        else if (item.type === 'synced')
          yield { message: { case: 'synced', value: { seq: item.seq === undefined ? undefined : BigInt(item.seq) } } }
        else {
          const value = await logEncoder.encode(item.event)
          if (value !== undefined) yield { message: { case: 'event', value } }
        }
      }
      draining.throwIfAborted()
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

/** Live events have positions in the log of all events. */
function unplaced(event: AnyEvent): AnyEvent {
  if (!('position' in event)) return event
  const { position: _, ...others } = event
  return others
}

/**
 * Makes the message of each event once for all streams. The content of files is not to be kept for as long as the
 * event: a message with files is shared while somebody has it.
 */
class EventEncoder {
  readonly #blobs: Pick<BlobStore, 'get'>
  readonly #toProto: typeof eventToProto
  readonly #known = new WeakMap<AnyEvent, { deref(): SessionEvent | undefined }>()
  readonly #reading = new WeakMap<AnyEvent, Promise<SessionEvent | undefined>>()

  constructor(blobs: Pick<BlobStore, 'get'>, toProto = eventToProto) {
    this.#blobs = blobs
    this.#toProto = toProto
  }

  /** Undefined if its content was removed with its session. */
  async encode(event: AnyEvent): Promise<SessionEvent | undefined> {
    const made = this.#known.get(event)?.deref()
    if (made !== undefined) return made
    if (blobsOfEvent(event).length > 0) return this.#withFiles(event)
    const message = this.#toProto(event, NO_BLOBS)
    this.#known.set(event, { deref: () => message })
    return message
  }

  #withFiles(event: AnyEvent): Promise<SessionEvent | undefined> {
    const begun = this.#reading.get(event)
    if (begun !== undefined) return begun
    const reading = this.#read(event).finally(() => this.#reading.delete(event))
    this.#reading.set(event, reading)
    return reading
  }

  async #read(event: AnyEvent): Promise<SessionEvent | undefined> {
    await ownTurn()
    const { contents, missing } = await findContents(this.#blobs, event.workspace, blobsOfEvent(event))
    if (missing !== undefined) return undefined
    const message = this.#toProto(event, contents)
    this.#known.set(event, new WeakRef(message))
    return message
  }
}
