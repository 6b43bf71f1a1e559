import type { Attributes } from '@opentelemetry/api'
import { wrapSteps } from '#shared/streams.ts'
import { withRequestId } from '#shared/telemetry/request-scope.ts'

export type { Attributes } from '@opentelemetry/api'

/** Metadata of a call, as headers. */
export type Carrier = Record<string, string | string[] | undefined>

/** What a span is about. */
export interface SpanOptions {
  /** Where the work is done: for a caller of ours, in this process, or by somebody that we call. Default: internal. */
  readonly kind?: 'server' | 'internal' | 'client'
  /** Names by the OpenTelemetry conventions; no key, token or content of a conversation. */
  readonly attributes?: Attributes
  /** Headers that name the caller's span; only from callers that are trusted. */
  readonly carrier?: Carrier
}

/** What became of a span. */
export interface SpanOutcome {
  readonly error?: unknown
  readonly attributes?: Attributes
  /** A better name than the one it began with, when it became known on the way. */
  readonly name?: string
}

/** A span under way. */
export interface OpenSpan {
  /** Runs a function inside the span: what it starts becomes its children. */
  run<T>(work: () => T): T
  /** Adds the span's name to the headers of a call to somebody else. */
  inject(carrier: Carrier): void
  end(outcome?: SpanOutcome): void
}

/** What makes spans while tracing is on; nothing of it is loaded before. */
export interface Tracing {
  /** Opens a span, as a child of the one this runs in or of the carrier's. */
  open(name: string, options: SpanOptions): OpenSpan
  /** Trace and span that this runs in. */
  ids(): { readonly traceId: string; readonly spanId: string } | undefined
  /** Runs work outside of every span. */
  outside<T>(work: () => T): T
}

let tracing: Tracing | undefined

/** Turns tracing on or off for this process; `startTelemetry` does. */
export function setTracing(next: Tracing | undefined): void {
  tracing = next
}

/** Whether spans are made. */
export function isTracing(): boolean {
  return tracing !== undefined
}

/** Opens a span, as a child of the one this runs in or of the carrier's. Undefined when tracing is off. */
export function openSpan(name: string, options: SpanOptions = {}): OpenSpan | undefined {
  return tracing?.open(name, options)
}

/** The trace and the span that this runs in; undefined outside of every span. */
export function currentSpan(): ReturnType<Tracing['ids']> {
  return tracing?.ids()
}

/** Runs work in a span that ends with it. */
export async function inSpan<T>(name: string, options: SpanOptions, work: (span?: OpenSpan) => Promise<T>): Promise<T> {
  const span = openSpan(name, options)
  if (span === undefined) return work()
  try {
    const result = await span.run(() => work(span))
    span.end()
    return result
  } catch (error) {
    span.end({ error })
    throw error
  }
}

/** Pulls a stream in a span that begins now and ends with the stream, or when the puller leaves it. */
export function streamInSpan<T>(
  name: string,
  options: SpanOptions,
  open: (span?: OpenSpan) => AsyncIterable<T>,
): AsyncIterable<T> {
  const span = openSpan(name, options)
  return span === undefined
    ? open()
    : pullInSpan(
        span,
        span.run(() => open(span)),
      )
}

/** Pulls a stream inside a span, which ends with it. */
export function pullInSpan<T>(span: OpenSpan, stream: AsyncIterable<T>): AsyncIterable<T> {
  return wrapSteps(stream, async (step) => {
    try {
      const result = await span.run(step)
      if (result.done === true) span.end()
      return result
    } catch (error) {
      span.end({ error })
      throw error
    }
  })
}

/** Starts work that outlives the request it was started in: its log lines and spans do not belong to that request. */
export function detached<T>(work: () => T): T {
  const own = (): T => withRequestId(undefined, work)
  return tracing === undefined ? own() : tracing.outside(own)
}
