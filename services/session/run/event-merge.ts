import type { VolatileEvent } from '../domain/event.ts'
import type { TailItem } from '../ports.ts'

interface Waiting {
  readonly event: VolatileEvent
  /** The durable event that it follows is still to come. */
  readonly keepsBack: boolean
}

/**
 * Puts the volatile events of many sessions between their durable ones: each after the durable event that it follows,
 * and before the next one of its session.
 */
export class EventMerge {
  #waiting: Waiting[] = []
  /** Session → number of the last durable event of a step that came; sessions in which nothing runs are forgotten. */
  readonly #seen = new Map<string, number>()

  get size(): number {
    return this.#waiting.length
  }

  /** `awaited`: the durable event that it follows will come, or has come already. */
  add(event: VolatileEvent, awaited: boolean): void {
    this.#waiting.push({ event, keepsBack: awaited })
  }

  /** The oldest event that needs to wait for nothing. */
  takeFree(): VolatileEvent | undefined {
    const held = new Set<string>()
    for (const [i, { event, keepsBack }] of this.#waiting.entries()) {
      const free = !keepsBack || event.afterSeq <= (this.#seen.get(event.sessionId) ?? -1)
      if (free && !held.has(event.sessionId)) {
        this.#waiting.splice(i, 1)
        return event
      }
      held.add(event.sessionId)
    }
    return undefined
  }

  /** The events that come before an item of the log, in order. After a gap nothing is waited for any more. */
  takeBefore(item: TailItem): VolatileEvent[] {
    if (item.type === 'ready') return []
    if (item.type === 'missed') {
      this.#seen.clear()
      return this.#take(() => true)
    }
    const { sessionId, seq, data } = item.event
    if (data.type === 'execution-ended') this.#seen.delete(sessionId)
    else if ('part' in data || ('messageId' in data && data.type !== 'inbox-delivered')) this.#seen.set(sessionId, seq)
    return this.#take((event) => event.sessionId === sessionId && event.afterSeq < seq)
  }

  #take(wanted: (event: VolatileEvent) => boolean): VolatileEvent[] {
    const taken = this.#waiting.filter(({ event }) => wanted(event)).map(({ event }) => event)
    if (taken.length > 0) this.#waiting = this.#waiting.filter(({ event }) => !wanted(event))
    return taken
  }
}
