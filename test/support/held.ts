/**
 * The longest that this thread worked without a turn of the event loop while something ran, in milliseconds of CPU
 * time, which neighbours on the machine do not lengthen.
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
