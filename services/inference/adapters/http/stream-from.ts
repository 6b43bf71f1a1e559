import type { GenerationEvent } from '#services/inference/domain/generation.ts'
import type { ResponseReader } from './response-reader.ts'
import { SseReader } from './sse-reader.ts'

/** Turns the data of a provider's events into ours. */
export interface EventMapper {
  /** Nothing that follows counts any more. */
  readonly done: boolean
  push(data: string): void
  take(): GenerationEvent[]
  /** The stream is over; throws when the answer is not. */
  end(): void
}

/**
 * Asks, and pulls the answer through a mapper: one batch for each network read, and the connection back to its pool at the end.
 * Nothing is asked before the first pull.
 */
export async function* streamFrom(
  ask: () => Promise<ResponseReader>,
  providerId: string,
  mapper: EventMapper,
): AsyncGenerator<readonly GenerationEvent[]> {
  const reader = await ask()
  const events = new SseReader(reader, providerId)
  try {
    while (!mapper.done) {
      const batch = await events.next()
      const failure = batch === undefined ? end(mapper) : push(mapper, batch)
      const happened = mapper.take()
      if (mapper.done) reader.release()
      if (happened.length > 0) yield happened
      if (failure !== undefined) throw failure.error
    }
  } finally {
    if (!mapper.done) reader.close()
  }
}

interface Failure {
  readonly error: unknown
}

/** What came before a failure in the same read is handed over first. */
function push(mapper: EventMapper, batch: readonly string[]): Failure | undefined {
  try {
    for (const data of batch) mapper.push(data)
  } catch (error) {
    return { error }
  }
}

function end(mapper: EventMapper): Failure | undefined {
  try {
    mapper.end()
  } catch (error) {
    return { error }
  }
}
