import type { GenerationEvent } from '#gen/portico/inference/v1/inference_service_pb.js'
import { ThoughtFilter } from '../domain/thought-filter.ts'
import type { Generation } from './generation.ts'

/** Removes thoughts from the answer if the request or its preset wants none. They are charged for nevertheless. */
export function hideThoughts(generation: Generation): void {
  if (generation.input.request.excludeThoughts !== true) return
  generation.answer = withoutThoughts(generation.answer)
}

async function* withoutThoughts(
  answer: AsyncIterable<readonly GenerationEvent[]>,
): AsyncGenerator<readonly GenerationEvent[]> {
  const filter = new ThoughtFilter()
  for await (const batch of answer) {
    const events = filter.take(batch)
    if (events.length > 0) yield events
  }
}
