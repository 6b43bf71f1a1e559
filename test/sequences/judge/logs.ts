import { isDeepStrictEqual } from 'node:util'
import type { WireEvent } from '../follow.ts'
import type { Evidence } from './evidence.ts'

/**
 * The stream brought every event of the log, in its order; and a client that read the log from a number got what
 * follows it.
 */
export function judgeLogs({ history, events, seen, clockMs }: Evidence): string[] {
  const problems = differences('the stream', events, seen)
  for (const { after, asked, events: read } of history.logs) {
    const all = events.filter(({ durable: { seq } }) => seq > after)
    const least = all.filter(({ created }) => created + clockMs < asked.sent).length
    if (read.length < least) problems.push(`the log after ${after} had ${read.length} events instead of ${least}`)
    problems.push(...differences(`the log after ${after}`, all.slice(0, read.length), read))
  }
  return problems
}

function differences(what: string, expected: readonly WireEvent[], found: readonly WireEvent[]): string[] {
  const at = expected.findIndex((event, i) => !isDeepStrictEqual(found[i], event))
  if (at < 0 && expected.length === found.length) return []
  const place = at < 0 ? expected.length : at
  const line = (event: WireEvent | undefined) => JSON.stringify(event)?.slice(0, 500)
  return [`${what} had ${line(found[place])} where the log has ${line(expected[place])}`]
}
