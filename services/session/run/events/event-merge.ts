import type { DurableEvent, VolatileEvent } from '#services/session/domain/event.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'

interface Waiting {
  event: VolatileEvent
  /** The durable event that it follows is still to come. */
  readonly keepsBack: boolean
}

/**
 * Interleaves the volatile events of many sessions with their durable ones: each comes after the durable event that it
 * follows, and before its session's next one. While they wait, adjacent events of a session about the same thing are
 * merged: deltas of one part or summary are concatenated, and only the last progress of a tool call is kept.
 */
export class EventMerge {
  #waiting: Waiting[] = []
  /** Session → the newest of its waiting events. */
  readonly #newest = new Map<string, Waiting>()
  #characters = 0
  /** Session → number of the last durable event of a step that came; sessions in which nothing runs are forgotten. */
  readonly #seen = new Map<string, number>()

  get size(): number {
    return this.#waiting.length
  }

  /** Characters of the words that wait. */
  get characters(): number {
    return this.#characters
  }

  /** `awaited`: the durable event that it follows will come, or has come already. */
  add(event: VolatileEvent, awaited: boolean): void {
    this.#characters += charactersOf(event)
    const { sessionId } = event
    const last = this.#newest.get(sessionId)
    const joined = last?.keepsBack === awaited ? join(last.event, event) : undefined
    if (last !== undefined && joined !== undefined) {
      last.event = joined
      return
    }
    const waiting = { event, keepsBack: awaited }
    this.#waiting.push(waiting)
    this.#newest.set(sessionId, waiting)
  }

  /** The oldest event that need not wait. */
  takeFree(): VolatileEvent | undefined {
    const held = new Set<string>()
    for (const [i, { event, keepsBack }] of this.#waiting.entries()) {
      const free = !keepsBack || event.afterSeq <= (this.#seen.get(event.sessionId) ?? -1)
      if (free && !held.has(event.sessionId)) {
        this.#waiting.splice(i, 1)
        this.#taken(event)
        return event
      }
      held.add(event.sessionId)
    }
    return undefined
  }

  /** The events that come before an item of the log, in order. After a gap, no event waits any more. */
  takeBefore(item: TailItem): VolatileEvent[] {
    if (item.type === 'ready' || item.type === 'caught-up') return []
    if (item.type === 'missed') {
      this.#seen.clear()
      return this.#take(() => true)
    }
    const { sessionId, seq, event: what } = item.event
    if (what.case === 'executionEnded' || what.case === 'sessionDeleted') this.#seen.delete(sessionId)
    else if (isOfStep(what)) this.#seen.set(sessionId, seq)
    return this.#take((event) => event.sessionId === sessionId && event.afterSeq < seq)
  }

  #take(wanted: (event: VolatileEvent) => boolean): VolatileEvent[] {
    const taken = this.#waiting.filter(({ event }) => wanted(event)).map(({ event }) => event)
    if (taken.length > 0) this.#waiting = this.#waiting.filter(({ event }) => !wanted(event))
    for (const event of taken) this.#taken(event)
    return taken
  }

  #taken(event: VolatileEvent): void {
    this.#characters -= charactersOf(event)
    if (this.#newest.get(event.sessionId)?.event === event) this.#newest.delete(event.sessionId)
  }
}

function isOfStep({ case: kind, value }: DurableEvent['event']): boolean {
  return value !== undefined && ('part' in value || ('messageId' in value && kind !== 'inboxDelivered'))
}

function charactersOf({ event }: VolatileEvent): number {
  return event.case === 'partExtended' || event.case === 'compactionExtended' ? event.value.delta.length : 0
}

/** Merges two adjacent events into one with the id and time of the first; undefined if they cannot be merged. */
function join(first: VolatileEvent, second: VolatileEvent): VolatileEvent | undefined {
  if (first.afterSeq !== second.afterSeq) return undefined
  const { event: one } = first
  const { event: two } = second
  if (one.case === 'partExtended' && two.case === 'partExtended') {
    const [ref, next] = [one.value.part, two.value.part]
    const isSame = ref?.messageId === next?.messageId && ref?.kind === next?.kind && ref?.ordinal === next?.ordinal
    const delta = one.value.delta + two.value.delta
    return isSame ? { ...first, event: { ...one, value: { ...one.value, delta } } } : undefined
  }
  if (one.case === 'compactionExtended' && two.case === 'compactionExtended') {
    const isSame = one.value.messageId === two.value.messageId
    const delta = one.value.delta + two.value.delta
    return isSame ? { ...first, event: { ...one, value: { ...one.value, delta } } } : undefined
  }
  if (one.case !== 'toolProgressed' || two.case !== 'toolProgressed') return undefined
  const isSame = one.value.messageId === two.value.messageId && one.value.callId === two.value.callId
  return isSame ? { ...first, event: two } : undefined
}

/** A point in the order in which streams became ready; see `EventHub.mark`. */
export type Mark = number

/** Volatile events that may wait, and characters of their words. */
const MAX_WAITING = 4_096
const MAX_CHARACTERS = 2_097_152

/** The volatile events of a workspace that nobody has taken yet. */
export class PendingEvents {
  readonly merge = new EventMerge()
  overflowed = false
  #since: Mark = Number.POSITIVE_INFINITY
  #changed = Promise.withResolvers<void>()

  /** The stream is ready: everything written from now on will arrive. */
  ready(mark: Mark): void {
    this.#since = mark
  }

  add(event: VolatileEvent, mark: Mark): void {
    // Volatile events are only promised to a stream that is ready.
    if (this.#since === Number.POSITIVE_INFINITY) return
    if (this.merge.size >= MAX_WAITING || this.merge.characters >= MAX_CHARACTERS) this.overflowed = true
    else this.merge.add(event, mark >= this.#since)
    this.wake()
  }

  wake(): void {
    this.#changed.resolve()
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    this.#changed = Promise.withResolvers()
    return this.#changed.promise
  }
}
