import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Asks again and again until there is an answer; fails after a minute, naming what was waited for. */
export async function waitUntil<T>(what: string, ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > deadline) assert.fail(`waited in vain: ${what}`)
    await sleep(10)
  }
}

/** Waits until that holds. */
export async function waitFor(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  await waitUntil(what, async () => ((await holds()) ? true : undefined))
}
