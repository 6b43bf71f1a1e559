import { Code, ConnectError } from '@connectrpc/connect'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { reasonOf } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Carrier, OpenSpan, SpanOptions, SpanOutcome, Tracing } from '#shared/telemetry/tracing.ts'

const KINDS = { server: SpanKind.SERVER, internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const
// The codes that gRPC's conventions attribute to the server.
const OWN_FAULTS: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
])

/** Makes spans with an OpenTelemetry tracer. */
export function createTracing(tracer: Tracer): Tracing {
  return {
    open(name, { kind, attributes, carrier }) {
      const here = context.active()
      const parent = carrier === undefined ? here : propagation.extract(here, carrier)
      const span = tracer.startSpan(name, { kind: KINDS[kind ?? 'internal'], attributes }, parent)
      return new RunningSpan(span, trace.setSpan(parent, span), kind)
    },
    ids() {
      const span = trace.getActiveSpan()?.spanContext()
      return span !== undefined && isSpanContextValid(span) ? span : undefined
    },
    outside: (work) => context.with(ROOT_CONTEXT, work),
  }
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

  /** A planned rejection is no failure of the side that sent it. */
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
