/**
 * How a lease was lost: to another owner; or by time, because the store took no renewal though it was asked, because a
 * renewal failed for a reason that nobody foresaw, because work held up this process, or because this process was not given
 * time: it was suspended, or the machine had none.
 */
export type Loss = 'taken' | 'outage' | 'failure' | 'stall' | 'pause'

/** Whether the run can't be to blame, so that it was no attempt (ADR 0009). */
export function isBlameless(loss: Loss): boolean {
  return loss === 'outage' || loss === 'pause'
}

/** Where a process stood at a moment. */
export interface Mark {
  /** Monotonic milliseconds. */
  readonly at: number
  /** For how many milliseconds its event loop has shown that it turns. */
  readonly turnedMs: number
  /** For how many its thread has had a processor. */
  readonly busyMs: number
}

/** Why a lease was not renewed from when it was asked for until it ran out. */
export function lossByTime(begun: Mark, ended: Mark): Loss {
  const half = (ended.at - begun.at) / 2
  if (ended.turnedMs - begun.turnedMs >= half) return 'outage'
  return ended.busyMs - begun.busyMs >= half ? 'stall' : 'pause'
}

/** Milliseconds for which this thread has had a processor. */
export function threadBusyMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
