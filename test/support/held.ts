/**
 * The longest that this thread worked without a turn of the event loop while something ran, in milliseconds of its CPU
 * time.
 */
export async function heldDuring(run: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let before = cpuTime()
  const turn = (): void => {
    const now = cpuTime()
    longest = Math.max(longest, now - before)
    before = now
    turning = setImmediate(turn)
  }
  let turning = setImmediate(turn)
  await run()
  longest = Math.max(longest, cpuTime() - before)
  clearImmediate(turning)
  return longest
}

/**
 * How many milliseconds of CPU time a turn may take in a test of what delays nobody. It should take a tenth of that;
 * busy neighbours slow a thread down also by its own clock, and a mistake takes many seconds.
 */
export const MOST_HELD_MS = 2_000

/** The CPU time that this thread takes for something, in milliseconds. */
export function cpuDuring(run: () => void): number {
  const before = cpuTime()
  run()
  return cpuTime() - before
}

function cpuTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
