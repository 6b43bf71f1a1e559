import { type EventRecord, isDeletion } from '#services/session/adapters/common/event-record.ts'
import type { LogPlace } from '../change-stream.ts'

/** Maximum number of events, and of their characters, that are kept for readers. */
const MAX_EVENTS = 1_000
const MAX_CHARACTERS = 8 * 1024 * 1024

/** An event, and its place in the server's log. */
export interface PlacedEvent {
  readonly place: LogPlace
  readonly record: EventRecord
}

/** The newest events, without a gap after `floor`. Readers hold the number of the next event that they want. */
export class EventRing {
  /** Events after this place are here. */
  floor: LogPlace
  /** How many sessions were removed, as far as is known; a gap counts as well. */
  removals = 0
  #events: PlacedEvent[] = []
  /** Number of the first event. */
  #start = 0
  #characters = 0
  readonly #hidden = new WeakSet<PlacedEvent>()

  constructor(floor: LogPlace) {
    this.floor = floor
  }

  /** Number of the event that comes next. */
  get end(): number {
    return this.#start + this.#events.length
  }

  /** Place of the newest event. */
  get last(): LogPlace {
    return this.#events.at(-1)?.place ?? this.floor
  }

  push(event: PlacedEvent): void {
    if (isDeletion(event.record)) this.#hide(event.record)
    this.#events.push(event)
    this.#characters += event.record.data.length
    while (this.#events.length > MAX_EVENTS || (this.#characters > MAX_CHARACTERS && this.#events.length > 1)) {
      const dropped = this.#events.shift() as PlacedEvent
      this.#start++
      this.#characters -= dropped.record.data.length
      this.floor = dropped.place
    }
  }

  /** Starts over after a gap, which readers have to fill from elsewhere. */
  reset(floor: LogPlace): void {
    this.removals++
    this.#start = this.end + 1
    this.#events = []
    this.#characters = 0
    this.floor = floor
  }

  /**
   * The first event from a number on that is after a place; undefined: there is none yet. Readers that come from the
   * server's log, or from another process, may be ahead of the ring.
   */
  next(number: number, place: LogPlace): (PlacedEvent & { readonly number: number }) | undefined {
    for (let n = number; n < this.end; n++) {
      const event = this.#events[n - this.#start]
      if (event !== undefined && event.place > place && !this.#hidden.has(event)) return { ...event, number: n }
    }
    return undefined
  }

  /** The records from a number on, up to another one. */
  records(number: number, to: number): EventRecord[] {
    return this.#events.slice(number - this.#start, to - this.#start).map(({ record }) => record)
  }

  /** Hides the events of a removed session from readers that have not reached them yet. */
  #hide({ workspace, sessionId }: EventRecord): void {
    this.removals++
    for (const event of this.#events) {
      const { record } = event
      if (record.workspace === workspace && record.sessionId === sessionId && !isDeletion(record))
        this.#hidden.add(event)
    }
  }

  /** Whether the event with that number is no longer here. */
  isBehind(number: number): boolean {
    return number < this.#start
  }

  /** Number of the first event after a place; undefined: the place is before the first one here. */
  after(place: LogPlace): number | undefined {
    if (place < this.floor) return undefined
    const index = this.#events.findIndex((event) => event.place > place)
    return index < 0 ? this.end : this.#start + index
  }

  /** Whether an event has exactly that place. */
  has(place: LogPlace): boolean {
    return this.#events.some((event) => event.place === place)
  }
}
