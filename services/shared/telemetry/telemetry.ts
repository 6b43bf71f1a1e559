import type { SpanProcessor } from '@opentelemetry/sdk-trace'
import { setTracing } from '#shared/telemetry/tracing.ts'

const EXPORT_TIMEOUT_MS = 3_000

/** Where spans are sent; undefined: tracing is off and costs nothing. */
export interface TelemetryConfig {
  readonly tracesUrl: string | undefined
}

/** Telemetry of this process. Disposal sends what is left, which takes at most 3 s, and turns tracing off. */
export interface Telemetry extends AsyncDisposable {}

/**
 * Turns on tracing if an address for spans is configured (OTLP, protobuf over HTTP); otherwise it does not even load
 * it. Must be called before a service is opened, once per process. Whoever began a trace decides whether it is sampled.
 */
export async function startTelemetry(service: string, { tracesUrl }: TelemetryConfig): Promise<Telemetry> {
  if (tracesUrl === undefined) return { async [Symbol.asyncDispose]() {} }
  const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
  const exporter = new OTLPTraceExporter({ url: tracesUrl, timeoutMillis: EXPORT_TIMEOUT_MS })
  return startTracing(service, new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_TIMEOUT_MS }))
}

/** Turns on tracing with a span processor; called by `startTelemetry` and tests. */
export async function startTracing(service: string, processor: SpanProcessor): Promise<Telemetry> {
  const { context, logs, propagation, trace } = await import('@opentelemetry/api')
  const { NodeSDK } = await import('@opentelemetry/sdk-node')
  const { resourceFromAttributes } = await import('@opentelemetry/resources')
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core')
  const { createTracing } = await import('#shared/telemetry/spans.ts')
  const sdk = new NodeSDK({
    resource: resourceFromAttributes({ 'service.name': service, 'service.namespace': 'portico' }),
    spanProcessors: [processor],
    textMapPropagator: new W3CTraceContextPropagator(),
    // By default these are on: detection of the machine, and exporters of logs and metrics, which nobody uses.
    autoDetectResources: false,
    logRecordProcessors: [],
    metricReaders: [],
  })
  sdk.start()
  setTracing(createTracing(trace.getTracer('portico')))
  return {
    async [Symbol.asyncDispose]() {
      setTracing(undefined)
      await withinTime(sdk.shutdown())
      for (const api of [trace, propagation, context, logs]) api.disable()
    },
  }
}

async function withinTime(work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, EXPORT_TIMEOUT_MS)
  // Spans that cannot be delivered any more are lost, which is no reason to fail.
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}
