import type { SpanProcessor } from '@opentelemetry/sdk-trace'
import type { TelemetryConfig } from '#shared/config/telemetry-config.ts'
import { setTracing } from '#shared/telemetry/tracing.ts'

const EXPORT_TIMEOUT_MS = 3_000

/** Telemetry of this process. Disposal sends what is left, waiting 3 s at most, and turns tracing off. */
export interface Telemetry extends AsyncDisposable {}

/**
 * Turns on tracing when there is somewhere to send spans (OTLP, protobuf over HTTP); otherwise nothing is even loaded. To be
 * called before a service is opened, once in a process. Whether a trace is sampled is decided by who began it.
 */
export async function startTelemetry(service: string, { tracesUrl }: TelemetryConfig): Promise<Telemetry> {
  if (tracesUrl === undefined) return { async [Symbol.asyncDispose]() {} }
  const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace')
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
  const exporter = new OTLPTraceExporter({ url: tracesUrl, timeoutMillis: EXPORT_TIMEOUT_MS })
  return startTracing(service, new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_TIMEOUT_MS }))
}

/** Turns on tracing with a processor of spans; `startTelemetry` and tests do. */
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
    // Left out, these are on: what the machine is, and exporters of logs and metrics that nobody wants.
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
  // Spans that cannot be delivered any more are lost; that is no reason to fail.
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}
