import { setImmediate as nextTurn } from 'node:timers/promises'

let last: Promise<void> = Promise.resolve()

/**
 * Waits for a turn of the event loop in which nobody else who waits here continues, so that the work of several
 * requests is spread over several turns. For work that takes tens of milliseconds.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => nextTurn())
  return last
}
