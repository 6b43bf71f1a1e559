import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import { AnswerSize } from '#services/inference/domain/ledger/answer-size.ts'
import type { JsonObject } from '#shared/json.ts'
import { reasonOf } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { objectAt } from './json.ts'
import { isOverflow, OVERFLOW, unavailable } from './provider-errors.ts'
import type { ResponseReader } from './response-reader.ts'
import { SseReader } from './sse-reader.ts'
import { isEventStream, type Upstream } from './upstream.ts'

/** Maximum size of a whole answer; parsing a longer one would take too long. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024

/** Converts what a provider sends to events: a whole answer, or the data of a stream's events one after the other. */
export interface ProviderMapper {
  /** Anything that follows is ignored. */
  readonly done: boolean
  /** Nobody gets more of the answer: what follows only says what it used. */
  readonly over: boolean
  whole(answer: JsonObject): void
  /** Reads the data of one event of a stream. */
  push(data: string): void
  /** The stream has ended; throws if the answer is incomplete. */
  end(): void
  /** Nobody is to get more of the answer, which ends because of its length. */
  cut(): void
  /** The model has no room for more: the answer, which may not have begun, ends because of its length. */
  overflow(rawReason: string): void
  /** Events since the last call. */
  take(): ProviderEvent[]
}

/** One request to a provider, and the mapper of its response. */
export interface ProviderCall {
  readonly providerId: string
  readonly send: () => Promise<ResponseReader>
  readonly mapper: ProviderMapper
  readonly upstream: Pick<Upstream, 'withoutSecrets'>
  /** What ends a stream because of its length. */
  readonly request: Pick<ProviderRequest, 'endsAtOverflow' | 'maxOutputTokens'>
  /** Aborts when nobody wants the answer any more. */
  readonly signal: AbortSignal
}

/**
 * Requests a whole answer and maps it. Some servers stream whatever was requested; such a stream is collected. A
 * conversation that is too long for the model is an error, since nothing came of which a whole answer could be made.
 */
export async function* wholeAnswer(call: ProviderCall): AsyncGenerator<readonly ProviderEvent[]> {
  const { providerId, mapper } = call
  const reader = await call.send()
  const { headers } = await reader.head()
  if (isEventStream(headers)) {
    const request = { ...call.request, endsAtOverflow: false }
    yield* streamedAnswer({ ...call, send: async () => reader, request })
    return
  }
  let failure: Failure | undefined
  try {
    mapper.whole(jsonObject(await reader.text(MAX_WHOLE_BYTES), providerId, 'an answer'))
  } catch (error) {
    failure = { error }
  } finally {
    reader.close()
  }
  yield mapper.take()
  if (failure !== undefined) throw call.upstream.withoutSecrets(failure.error)
}

/**
 * Requests a stream and pulls the answer through the mapper, one batch for each read from the network, and returns the
 * connection to its pool at the end. Nothing is sent before the first pull. Whatever happens after a complete answer,
 * or once nobody gets more of it, simply ends it, unless the caller has left.
 */
export async function* streamedAnswer(call: ProviderCall): AsyncGenerator<readonly ProviderEvent[]> {
  const { providerId, mapper, signal } = call
  const reader = await send(call)
  if (reader === undefined) {
    yield mapper.take()
    return
  }
  const events = new SseReader(reader, providerId)
  using overtime = new Overtime(reader)
  const size = new AnswerSize(call.request.maxOutputTokens)
  try {
    while (!mapper.done) {
      const read = await next(events)
      let failure = read.batch === undefined ? end(mapper, signal, read) : push(mapper, read.batch)
      if (mapper.over && !mapper.done && !hasLeft(signal)) {
        overtime.begin()
        if (overtime.exceededBy(read.batch) || failure !== undefined) {
          reader.close()
          mapper.end()
          failure = undefined
        }
      }
      if (failure !== undefined && endsForLength(call, failure.error)) failure = undefined
      const happened = mapper.take()
      for (const { event } of happened) size.add(event)
      if (size.isTooLong && !mapper.over) {
        mapper.cut()
        overtime.begin()
      }
      if (mapper.done) reader.release()
      if (happened.length > 0) yield happened
      if (failure !== undefined) throw call.upstream.withoutSecrets(failure.error)
    }
  } finally {
    if (!mapper.done) reader.close()
  }
}

/** The reader of a response; undefined: the conversation is too long for the model, so the answer has ended. */
async function send(call: ProviderCall): Promise<ResponseReader | undefined> {
  try {
    return await call.send()
  } catch (error) {
    if (!endsForLength(call, error)) throw error
  }
}

function endsForLength({ mapper, request }: ProviderCall, error: unknown): boolean {
  if (mapper.done || !request.endsAtOverflow || !isOverflow(error)) return false
  mapper.overflow(OVERFLOW)
  return true
}

/** Parses what a provider sent, which must be a JSON object. */
export function jsonObject(text: string, providerId: string, what: 'an answer' | 'an event'): JsonObject {
  try {
    const value = objectAt(JSON.parse(text))
    if (value !== undefined) return value
  } catch {}
  throw unavailable(providerId, `It sent ${what} that is not a JSON object`)
}

interface Failure {
  readonly error: unknown
}

/** What came before a failure in the same read is passed on first. */
function push(mapper: ProviderMapper, batch: readonly string[]): Failure | undefined {
  try {
    for (const data of batch) mapper.push(data)
  } catch (error) {
    return { error }
  }
}

/** The result of a read: events, the end, or the error that broke the stream. */
interface Read {
  readonly batch?: readonly string[] | undefined
  readonly broken?: Failure
}

function next(events: SseReader): Promise<Read> {
  return events.next().then(toRead, toBroken)
}

const toRead = (batch: readonly string[] | undefined): Read => ({ batch })
const toBroken = (error: unknown): Read => ({ broken: { error } })

function end(mapper: ProviderMapper, signal: AbortSignal, { broken }: Read): Failure | undefined {
  if (broken !== undefined && hasLeft(signal)) return broken
  try {
    mapper.end()
  } catch (error) {
    return broken ?? { error }
  }
}

/** Whether the caller has left. Whatever else ends a call has a reason of ours: a deadline, a service that stops. */
function hasLeft({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof Rejection) && reasonOf(reason) === undefined
}

const MAX_MS = 1_000
const MAX_CHARACTERS = 4 * 1024 * 1024

/** Bounds the time and the size for which a stream is read on, for its usage, when nobody gets more of its answer. */
class Overtime implements Disposable {
  readonly #reader: Pick<ResponseReader, 'close'>
  #late: NodeJS.Timeout | undefined
  #characters = 0

  constructor(reader: Pick<ResponseReader, 'close'>) {
    this.#reader = reader
  }

  /** Starts the time, unless it is running. */
  begin(): void {
    this.#late ??= setTimeout(() => this.#reader.close(), MAX_MS)
  }

  /** Counts what was read, and returns whether the size is exceeded now. */
  exceededBy(batch: readonly string[] = []): boolean {
    for (const data of batch) this.#characters += data.length
    return this.#characters > MAX_CHARACTERS
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#late)
  }
}
