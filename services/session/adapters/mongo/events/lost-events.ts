import { type EventRecord, isDeletion, parseEvent } from '#services/session/adapters/tables/events.ts'
import type { LostEvent, TailItem } from '#services/session/ports/event-log.ts'

/** If there are more different ones, a notice does not name the events that are lost. */
const MOST = 256

/** The events in a row that a reader has missed because they have expired. */
export class LostEvents {
  readonly #lost = new Map<string, LostEvent>()

  add(record: EventRecord): void {
    if (this.#lost.size > MOST) return
    const { sessionId, directory } = record
    const data = isDeletion(record) ? (parseEvent(record).data as LostEvent['data']) : undefined
    this.#lost.set(JSON.stringify([sessionId, directory, data?.type]), { sessionId, directory, data })
  }

  /** Ends the row; returns the notice of it, if there is anything in it. */
  end(): readonly TailItem[] {
    const lost = [...this.#lost.values()]
    this.#lost.clear()
    if (lost.length === 0) return []
    return [lost.length > MOST ? { type: 'missed' } : { type: 'missed', lost }]
  }
}
