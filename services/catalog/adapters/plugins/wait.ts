import { setTimeout as delay } from 'node:timers/promises'
import { orAborted } from '#shared/or-aborted.ts'

/** How long readers wait for a plugin that is loading; what it registers later is offered then. */
const LOAD_MS = 5_000

/** Resolves when everything has loaded, or after a time limit. */
export async function waitAtMost(loaded: Promise<unknown>, milliseconds = LOAD_MS): Promise<void> {
  await Promise.race([loaded, delay(milliseconds, undefined, { ref: false })])
}

/** Waits; returns false if the signal aborted before the time was over. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, milliseconds, true).unref()
  const late = await orAborted(promise, signal).catch(() => false)
  clearTimeout(timer)
  return late
}

/**
 * Returns what is acquired, unless the signal aborts first: then its reason is thrown, and what comes too late is given
 * back.
 */
export async function acquire<T extends Disposable>(acquired: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await orAborted(acquired, signal)
  } catch (error) {
    acquired.then((late) => late[Symbol.dispose]()).catch(() => {})
    throw error
  }
}
