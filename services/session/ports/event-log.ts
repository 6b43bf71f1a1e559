import type { DurableEvent } from '../domain/event.ts'

/** The durable events of sessions, in the order in which they were committed. */
export interface EventLog {
  /**
   * Events of a workspace in log order: after a position, or from now on; then live, until the signal aborts or the store
   * is disposed. Pulled: a slow reader holds nothing but its place. The first item is `ready`: everything written after
   * it was seen will come. `missed` follows at once when the position is unknown or too old, and stands later where a
   * gap can't be filled.
   */
  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem>
}

export type TailItem =
  /** `position`: where the reader stands; what follows comes after it. */
  | { readonly type: 'ready'; readonly position: string }
  | { readonly type: 'missed' }
  | { readonly type: 'event'; readonly event: DurableEvent }
