import { setTimeout as sleep } from 'node:timers/promises'

/** Something that a process does for others, and stops doing in two steps. Both may be called again. */
export interface Leaving {
  /** Says that no more work should be sent here, and goes on with everything. */
  unready?(): void
  /** Takes nothing new, and resolves when what is open has ended; after so many milliseconds cuts it off. */
  drain(ms: number): Promise<void>
}

/** How long a process takes to stop, in milliseconds. */
export interface LeaveTimes {
  /** `PORTICO_UNREADY_SECONDS`: from the signal until ports are closed, so that balancers notice. */
  readonly unreadyMs: number
  /** `PORTICO_DRAIN_SECONDS`: from then on, for all that is open. */
  readonly drainMs: number
}

/** Stops a process that others send work to: first it is unready, then everything drains side by side. */
export async function leave({ unreadyMs, drainMs }: LeaveTimes, all: readonly Leaving[]): Promise<void> {
  for (const each of all) each.unready?.()
  if (unreadyMs > 0) await sleep(unreadyMs)
  await Promise.all(all.map((each) => each.drain(drainMs)))
}
