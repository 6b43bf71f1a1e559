import { setTimeout as delay } from 'node:timers/promises'
import {
  completeEvent,
  type EventRecord,
  type EventSource,
  parseEvent,
} from '#services/session/adapters/common/event-record.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { mongoProblem } from '#shared/stores/mongo-problem.ts'
import { type Collections, keyOf, partKey } from '../collections.ts'
import { isOwned } from '../hidden/hidden-sessions.ts'

type Complete = ReturnType<typeof completeEvent>

const RETRY_MS = 1_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/**
 * Completes events with the content of parts and inbox items, once for all readers of this process that have the same
 * record.
 */
export class EventTexts {
  readonly #collections: Collections
  readonly #known = new WeakMap<EventRecord, Promise<Complete | undefined>>()

  constructor(collections: Collections) {
    this.#collections = collections
  }

  /** Waits for an unavailable server until the signal aborts. Undefined: it aborted, or the session was removed. */
  async complete(record: EventRecord, signal: AbortSignal): Promise<Complete | undefined> {
    while (!signal.aborted) {
      try {
        return await this.#read(record)
      } catch (error) {
        if (mongoProblem(error) === undefined) throw error
        await delay(RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
    return undefined
  }

  /** Whether the session of an event was removed, even if there is another one with the same id. */
  async isRemoved({ workspace, sessionId, seq }: EventRecord): Promise<boolean> {
    return !(await isOwned(this.#collections, workspace, { sessionId, seq }))
  }

  #read(record: EventRecord): Promise<Complete | undefined> {
    const known = this.#known.get(record)
    if (known !== undefined) return known
    const reading = this.#complete(record)
    this.#known.set(record, reading)
    reading.catch(() => this.#known.delete(record))
    return reading
  }

  async #complete(record: EventRecord): Promise<Complete | undefined> {
    const event = parseEvent(record)
    if (event.source === undefined) return completeEvent(record, event)
    const held = await this.#held(record.workspace, event.source)
    if (held === undefined && (await this.isRemoved(record))) return undefined
    return completeEvent(record, event, held)
  }

  async #held(workspace: string, source: EventSource): Promise<string | undefined> {
    const { inbox, parts } = this.#collections
    if (source.type === 'item') return (await inbox.findOne({ _id: keyOf(workspace, source.id) }, LIMIT))?.data
    return (await parts.findOne({ _id: partKey({ workspace, ...source }) }, LIMIT))?.data
  }
}
