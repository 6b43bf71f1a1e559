import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace'
import { startTracing } from '#shared/telemetry/telemetry.ts'

/** Tracing into memory. */
export interface RecordedSpans extends AsyncDisposable {
  /** The spans that have ended, in that order. */
  ended(): readonly ReadableSpan[]
  /** The ended span of that name; there has to be exactly one. */
  named(name: string): ReadableSpan
}

/** Turns tracing on for this process until disposal, and keeps the spans. */
export async function recordSpans(): Promise<RecordedSpans> {
  const exporter = new InMemorySpanExporter()
  const telemetry = await startTracing('test', new SimpleSpanProcessor({ exporter }))
  return {
    ended: () => exporter.getFinishedSpans(),
    named(name) {
      const [span, ...others] = exporter.getFinishedSpans().filter((each) => each.name === name)
      if (span === undefined || others.length > 0)
        throw new Error(`${span === undefined ? 'No' : 'More than one'} ${name}`)
      return span
    },
    [Symbol.asyncDispose]: () => telemetry[Symbol.asyncDispose](),
  }
}
