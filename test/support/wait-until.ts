import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

/**
 * Tries again and again until there is a result; fails after five minutes, which no machine needs, naming what was
 * waited for and, given `seen`, what there was instead. Whoever has to wait for something in a test waits by this.
 */
export async function waitUntil<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  seen?: () => unknown,
): Promise<T> {
  const deadline = performance.now() + 300_000
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > deadline) {
      const last = seen === undefined ? '' : `; last seen: ${inspect(await seen(), { depth: 6 }).slice(0, 4_000)}`
      assert.fail(`waited in vain: ${what}${last}`)
    }
    await sleep(10)
  }
}

/** Waits until the condition holds. */
export async function waitFor(
  what: string,
  holds: () => Promise<boolean> | boolean,
  seen?: () => unknown,
): Promise<void> {
  await waitUntil(what, async () => ((await holds()) ? true : undefined), seen)
}
