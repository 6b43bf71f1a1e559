import { setImmediate } from 'node:timers/promises'

/**
 * A way to an answer, in pieces of bounded work: yields what a piece has cost, in the rows that a list could go through
 * instead.
 */
export type Way<T> = Iterator<number, T> | AsyncIterator<number, T>

/**
 * Follows several ways to one answer, the one that has cost least so far first, and ends with what the first one to
 * arrive returns. Which way is short depends on what is stored: this costs about twice as much as the shortest. After
 * each piece it yields nothing, and others have a turn.
 */
export async function* race<T>(ways: readonly Way<readonly T[]>[]): AsyncGenerator<readonly T[]> {
  const runners = ways.map((way) => ({ way, spent: 0 }))
  try {
    for (;;) {
      const next = runners.reduce((a, b) => (b.spent < a.spent ? b : a))
      const { done, value } = await next.way.next()
      if (done === true) {
        yield value
        return
      }
      next.spent += value
      yield []
      await setImmediate()
    }
  } finally {
    for (const { way } of runners) await way.return?.()
  }
}
