import type { MeteredEvent } from '../domain/meter.ts'
import { ThoughtFilter } from '../domain/thought-filter.ts'
import type { Generation } from './generation.ts'

/** Leaves what the model thought out of the answer, where the request or its preset wants none of it. It is paid for all the same. */
export function hideThoughts(generation: Generation): void {
  if (generation.input.request.excludeThoughts !== true) return
  generation.answer = withoutThoughts(generation.answer)
}

async function* withoutThoughts(
  answer: AsyncIterable<readonly MeteredEvent[]>,
): AsyncGenerator<readonly MeteredEvent[]> {
  const filter = new ThoughtFilter()
  for await (const batch of answer) {
    const events = filter.take(batch)
    if (events.length > 0) yield events
  }
}
