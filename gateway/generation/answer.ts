import type { Generation } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationEvent, StreamGenerateResponse } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { Call } from '../call.ts'
import type { Clients } from '../clients.ts'
import type { PublicError } from '../errors/error-table.ts'
import { type EventAnswer, stream, type WholeAnswer, whole } from '../kinds.ts'
import { cacheNotApplied, type GenerationHeaders, type GenerationInit, withTerms } from './request.ts'

/** The comment that OpenRouter sends while a client waits. */
const HEARTBEAT = 'OPENROUTER PROCESSING'

interface StreamWriter<Failure> {
  readonly fold: {
    add(events: readonly GenerationEvent[]): void
    /** Ends a stream that broke off. */
    fail(failure: Failure): void
  }
  readonly frames: { take(): string }
  /** The error that broke a generation off, in the dialect's form. */
  readonly failureOf: (answer: PublicError) => Failure
  /** The generation ended without its last event. */
  readonly cutOff: Failure
  /** The server stopped before the generation ended. */
  readonly stopping: Failure
}

function streamedAnswer<Failure>(
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
    failed: (_, answer) => fail(failureOf(answer)),
    service: 'inference',
    heartbeat: HEARTBEAT,
    stop: () => fail(stopping),
  })
}

/** How a dialect presents a generation: a whole one as an `Answer`, the error of one that broke off as a `Failure`. */
interface Presentation<Answer, Failure> {
  readonly fromGeneration: (generation: Generation) => Answer
  /** The whole body of a failure that comes after white space was sent. */
  readonly fromFailure: (failure: Failure) => unknown
  /** The error that broke a generation off, in the dialect's form. */
  readonly failureOf: (answer: PublicError) => Failure
  /** The generation ended without its last event. */
  readonly cutOff: Failure
  /** The server stopped before the generation ended. */
  readonly stopping: Failure
  readonly writer: () => Pick<StreamWriter<Failure>, 'fold' | 'frames'>
}

/** The client's request. */
interface Wanted {
  readonly headers: GenerationHeaders
  readonly generation: GenerationInit
  readonly streamed: boolean
}

/** Requests a generation, whole or as a stream as the client wants it, and presents it in the client's dialect. */
export function answerGeneration<Answer, Failure>(
  { inference }: Clients,
  call: Call,
  { headers, generation, streamed }: Wanted,
  { fromGeneration, fromFailure, writer, ...failures }: Presentation<Answer, Failure>,
): WholeAnswer<Answer> | EventAnswer {
  const uncached = cacheNotApplied(headers)
  const { notApplied = [] } = generation
  const all = uncached.length === 0 ? generation : { ...generation, notApplied: [...notApplied, ...uncached] }
  if (streamed) {
    const request = withTerms({ ...all, endsAtOverflow: true }, call)
    return streamedAnswer(inference.streamGenerate(request, call.options()), { ...writer(), ...failures })
  }
  const generated = inference.generate(withTerms(all, call), call.options()).then(({ generation: made }) => {
    if (made === undefined) throw new Error('Nothing was generated')
    return fromGeneration(made)
  })
  return whole(generated, (_, answer) => fromFailure(failures.failureOf(answer)))
}
