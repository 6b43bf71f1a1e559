import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { findContents, NO_BLOBS } from '../blob-contents.ts'
import { type AnyEvent, blobsOfEvent, eventToProto } from './event-to-proto.ts'

/**
 * Makes the message of each event once for all streams. The content of files is not to be kept for as long as the
 * event: a message with files is shared while somebody has it.
 */
export class EventEncoder {
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
