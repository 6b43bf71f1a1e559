import { setImmediate } from 'node:timers/promises'

/**
 * The longest time that this thread worked between two turns of the event loop, in milliseconds of its own CPU time.
 */
export async function longestTurn(goesOn: () => boolean): Promise<number> {
  let longest = 0
  for (let last = ownMs(); goesOn(); ) {
    await setImmediate()
    const now = ownMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  return longest
}

/** CPU time of this thread, in milliseconds. */
export function ownMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
