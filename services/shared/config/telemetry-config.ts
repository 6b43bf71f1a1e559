import type { z } from 'zod'
import { urlVariable } from '#shared/config/variables.ts'

/** Where spans are sent; undefined: tracing is off and costs nothing. */
export interface TelemetryConfig {
  readonly tracesUrl: string | undefined
}

/**
 * The OpenTelemetry variables that are read. `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is used unchanged; `/v1/traces` is
 * appended to `OTEL_EXPORTER_OTLP_ENDPOINT`. Spread them into the schema of an entry file.
 */
export const telemetryVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: urlVariable().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: urlVariable().optional(),
}

/** The telemetry that the variables turn on. */
export function telemetryOf(values: z.output<z.ZodObject<typeof telemetryVariables>>): TelemetryConfig {
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT
  return {
    tracesUrl: values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base === undefined ? undefined : `${base}/v1/traces`),
  }
}
