import { setTimeout as delay } from 'node:timers/promises'
import type { FindCursor } from 'mongodb'
import {
  completeEvent,
  type EventRecord,
  type EventSource,
  parseEvent,
} from '#services/session/adapters/tables/events.ts'
import type { LogEvent } from '#services/session/domain/event.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { mongoProblem } from '#shared/stores/mongo-problem.ts'
import { type Collections, keyOf, partKey } from '../collections.ts'
import { isOwned } from '../hidden-sessions.ts'

type Held = { readonly _id: string; readonly data: string }
type Keys = { readonly _id: { readonly $in: string[] } }

const RETRY_MS = 1_000
/** How many characters are read at once, about: so much, and what else is in the last answer of the server. */
const PREPARED = 250_000
/** Records in one such answer. */
const ANSWER = 8
const HELD = { maxTimeMS: MAX_TIME_MS, projection: { data: 1 } } as const
const SOME = { ...HELD, batchSize: ANSWER } as const

/**
 * Completes events with the content of parts and inbox items, once for all readers of this process that have the same
 * record.
 */
export class EventTexts {
  readonly #collections: Collections
  readonly #readings = new WeakMap<EventRecord, Promise<LogEvent | undefined>>()
  /** What is read for events that are not complete yet; undefined: it is not among what was read at once. */
  readonly #held = new WeakMap<EventRecord, Promise<string | undefined>>()

  constructor(collections: Collections) {
    this.#collections = collections
  }

  /** Waits for an unavailable server until the signal aborts. Undefined: it aborted, or the session was removed. */
  async complete(record: EventRecord, signal: AbortSignal): Promise<LogEvent | undefined> {
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

  /** Begins to read what several events need at once. Where that is much, the rest is read for each event. */
  prepare(records: readonly EventRecord[]): void {
    const wanted = { part: new Map<string, EventRecord[]>(), item: new Map<string, EventRecord[]>() }
    for (const record of records) {
      const { source } = this.#readings.has(record) || this.#held.has(record) ? {} : parseEvent(record)
      if (source === undefined) continue
      const of = wanted[source.type]
      const key = keyOfSource(record.workspace, source)
      of.set(key, [...(of.get(key) ?? []), record])
    }
    const { inbox, parts } = this.#collections
    this.#prepare(wanted.item, (filter) => inbox.find<Held>(filter, SOME))
    this.#prepare(wanted.part, (filter) => parts.find<Held>(filter, SOME))
  }

  #prepare(wanted: ReadonlyMap<string, readonly EventRecord[]>, find: (filter: Keys) => FindCursor<Held>): void {
    if (wanted.size === 0) return
    // What fails here is tried again for each event.
    const reading = readSome(find({ _id: { $in: [...wanted.keys()] } })).catch(() => undefined)
    for (const [key, records] of wanted) {
      const held = reading.then((texts) => texts?.get(key))
      for (const record of records) this.#held.set(record, held)
    }
  }

  /** Whether the session of an event was removed, even if there is another one with the same id. */
  async isRemoved({ workspace, sessionId, seq }: EventRecord): Promise<boolean> {
    return !(await isOwned(this.#collections, workspace, { sessionId, seq }))
  }

  #read(record: EventRecord): Promise<LogEvent | undefined> {
    const earlier = this.#readings.get(record)
    if (earlier !== undefined) return earlier
    const reading = this.#complete(record)
    this.#readings.set(record, reading)
    reading.catch(() => this.#readings.delete(record))
    return reading
  }

  async #complete(record: EventRecord): Promise<LogEvent | undefined> {
    const event = parseEvent(record)
    if (event.source === undefined) return completeEvent(record, event)
    const held = (await this.#held.get(record)) ?? (await this.#readHeld(record.workspace, event.source))
    this.#held.delete(record)
    if (held === undefined && (await this.isRemoved(record))) return undefined
    return completeEvent(record, event, held)
  }

  async #readHeld(workspace: string, source: EventSource): Promise<string | undefined> {
    const { inbox, parts } = this.#collections
    const _id = keyOfSource(workspace, source)
    const held = source.type === 'item' ? inbox.findOne<Held>({ _id }, HELD) : parts.findOne<Held>({ _id }, HELD)
    return (await held)?.data
  }
}

function keyOfSource(workspace: string, source: EventSource): string {
  return source.type === 'item' ? keyOf(workspace, source.id) : partKey({ workspace, ...source })
}

async function readSome(cursor: FindCursor<Held>): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>()
  let characters = 0
  for await (const { _id, data } of cursor) {
    texts.set(_id, data)
    characters += data.length
    if (characters >= PREPARED) break
  }
  return texts
}
