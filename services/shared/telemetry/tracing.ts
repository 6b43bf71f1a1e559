import { Code, ConnectError } from '@connectrpc/connect'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { Rejection, reasonOf } from '#shared/rejection.ts'
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

const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const
// The codes that gRPC's conventions count as the server's fault.
const OWN_FAULTS: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
])
let tracer: Tracer | undefined

/** Turns tracing on or off for this process; `startTelemetry` does. */
export function setTracer(next: Tracer | undefined): void {
  tracer = next
}

/** Whether spans are made. */
export function isTracing(): boolean {
  return tracer !== undefined
}

/** Opens a span, as a child of the one this runs in or of the carrier's. Undefined when tracing is off. */
export function openSpan(name: string, options: SpanOptions = {}): OpenSpan | undefined {
  if (tracer === undefined) return undefined
  const here = context.active()
  const parent = options.carrier === undefined ? here : propagation.extract(here, options.carrier)
  const { attributes } = options
  const span = tracer.startSpan(
    name,
    { kind: KINDS[options.kind ?? 'internal'], ...(attributes === undefined ? {} : { attributes }) },
    parent,
  )
  return new RunningSpan(span, trace.setSpan(parent, span), options.kind)
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
  return context.with(ROOT_CONTEXT, () => withRequestId(undefined, work))
}

class RunningSpan implements OpenSpan {
  readonly #span: Span
  readonly #context: Context
  readonly #kind: SpanOptions['kind']
  #ended = false

  constructor(span: Span, inside: Context, kind: SpanOptions['kind']) {
    this.#span = span
    this.#kind = kind
    this.#context = inside
  }

  run<T>(work: () => T): T {
    return context.with(this.#context, work)
  }

  inject(carrier: Carrier): void {
    propagation.inject(this.#context, carrier)
  }

  end({ error, attributes, name }: SpanOutcome = {}): void {
    if (this.#ended) return
    this.#ended = true
    if (name !== undefined) this.#span.updateName(name)
    if (attributes !== undefined) this.#span.setAttributes(attributes)
    if (error !== undefined) {
      this.#span.setAttributes(errorAttributes(error))
      if (this.#blamed(error)) this.#span.setStatus({ code: SpanStatusCode.ERROR })
    }
    this.#span.end()
  }

  /** A call that was answered with a planned rejection went well for whoever answered it. */
  #blamed(error: unknown): boolean {
    return this.#kind === 'client' || !(error instanceof ConnectError) || OWN_FAULTS.has(error.code)
  }
}

function errorAttributes(error: unknown): Attributes {
  if (error instanceof ConnectError) {
    const code = codeToString(error.code).toUpperCase()
    return { 'rpc.status_code': code, 'error.type': reasonOf(error)?.reason ?? code }
  }
  if (error instanceof Rejection) return { 'error.type': error.reason }
  return { 'error.type': error instanceof Error ? error.name : typeof error }
}
