import type { GenerationEvent, StreamGenerateResponse } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { PublicError } from '../errors/error-table.ts'
import { type EventAnswer, stream } from '../kinds.ts'

/** The comment that OpenRouter sends while a client waits. */
const HEARTBEAT = 'OPENROUTER PROCESSING'

/** How a dialect writes the stream of a generation. */
export interface StreamWriter<Failure> {
  readonly fold: {
    add(events: readonly GenerationEvent[]): void
    /** Ends a stream that broke off. */
    fail(failure: Failure): void
  }
  readonly frames: { take(): string }
  /** The error that broke a generation off, in the dialect's form. */
  readonly failureOf: (shown: PublicError) => Failure
  /** The generation ended without its last event. */
  readonly cutOff: Failure
  /** The server stopped before the generation ended. */
  readonly stopping: Failure
}

/** The stream of a generation, in a dialect. */
export function streamedAnswer<Failure>(
  messages: AsyncIterable<StreamGenerateResponse>,
  { fold, frames, failureOf, cutOff, stopping }: StreamWriter<Failure>,
): EventAnswer {
  const fail = (failure: Failure): string => {
    fold.fail(failure)
    return frames.take()
  }
  return stream({
    messages,
    frame({ events }) {
      fold.add(events)
      return frames.take()
    },
    end: () => fail(cutOff),
    failed: (_, shown) => fail(failureOf(shown)),
    service: 'inference',
    heartbeat: HEARTBEAT,
    stop: () => fail(stopping),
  })
}
