import { setTimeout as sleep } from 'node:timers/promises'

/** Something that serves others, and stops doing so in two steps. Both may be called repeatedly. */
export interface Leaving {
  /** Announces that no more work should be sent here, and keeps working. */
  unready?(): void
  /**
   * Accepts nothing new, and resolves when everything in progress has ended. After `ms` milliseconds, it cuts off what
   * is left.
   */
  drain(ms: number): Promise<void>
}

/** How long a process takes to stop, in milliseconds. */
export interface LeaveTimes {
  /** `PORTICO_UNREADY_SECONDS`: from the signal until ports are closed, so that load balancers can notice. */
  readonly unreadyMs: number
  /** `PORTICO_DRAIN_SECONDS`: from then on, for everything in progress. */
  readonly drainMs: number
}

/** Stops everything that serves others: first it all becomes unready, then it drains in parallel. */
export async function leave({ unreadyMs, drainMs }: LeaveTimes, all: readonly Leaving[]): Promise<void> {
  for (const each of all) each.unready?.()
  if (unreadyMs > 0) await sleep(unreadyMs)
  await Promise.all(all.map((each) => each.drain(drainMs)))
}
