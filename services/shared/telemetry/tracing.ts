import type { Attributes } from '@opentelemetry/api'
import { wrapSteps } from '#shared/streams.ts'
import { withRequestId } from '#shared/telemetry/request-scope.ts'

export type { Attributes } from '@opentelemetry/api'

/** Metadata of a call, as headers. */
export type Carrier = Record<string, string | string[] | undefined>

/** What a span is about. */
export interface SpanOptions {
  /**
   * Where the work is done: here for a caller (`server`), within this process, or by somebody that it calls. Default:
   * internal.
   */
  readonly kind?: 'server' | 'internal' | 'client'
  /** Named by the OpenTelemetry conventions; never a key, a token or the content of a conversation. */
  readonly attributes?: Attributes
  /** Headers that contain the caller's span; only from trusted callers. */
  readonly carrier?: Carrier
}

export interface SpanOutcome {
  readonly error?: unknown
  readonly attributes?: Attributes
  /** A better name than the initial one, if it became known later. */
  readonly name?: string
}

export interface OpenSpan {
  /** Runs a function within the span; what it starts becomes its children. */
  run<T>(work: () => T): T
  /** Adds the span to the headers of a call to somebody else. */
  inject(carrier: Carrier): void
  end(outcome?: SpanOutcome): void
}

/** Makes spans while tracing is on; its module is not loaded before. */
export interface Tracing {
  /** Opens a span, as a child of the current one or of the carrier's. */
  open(name: string, options: SpanOptions): OpenSpan
  /** The current trace and span. */
  ids(): { readonly traceId: string; readonly spanId: string } | undefined
  /** Runs work outside of every span. */
  outside<T>(work: () => T): T
}

let tracing: Tracing | undefined

/** Turns tracing on or off for this process; `startTelemetry` does. */
export function setTracing(next: Tracing | undefined): void {
  tracing = next
}

export function isTracing(): boolean {
  return tracing !== undefined
}

/** Opens a span, as a child of the current one or of the carrier's. Undefined if tracing is off. */
export function openSpan(name: string, options: SpanOptions = {}): OpenSpan | undefined {
  return tracing?.open(name, options)
}

/** The current trace and span; undefined outside of every span. */
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

/** Pulls a stream within a span that begins now and ends with the stream, or when the reader leaves it. */
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

/** Pulls a stream within a span, which ends with it. */
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
