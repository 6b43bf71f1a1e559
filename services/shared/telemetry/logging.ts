import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { z } from 'zod'
import { mustBe } from '#shared/config/variables.ts'
import { redactLine, redactValue } from '#shared/telemetry/redaction.ts'
import { currentRequestId } from '#shared/telemetry/request-scope.ts'
import { currentSpan } from '#shared/telemetry/tracing.ts'

export type { Logger } from 'pino'

/** From the most talkative to none. */
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]

/** The variable that sets the level, default `info`; spread it into the schema of an entry file. */
export const logVariables = {
  PORTICO_LOG_LEVEL: z.enum(logLevels, mustBe(`one of ${logLevels.join(', ')}`)).default('info'),
}

/**
 * Makes a logger that writes JSON lines. Each line names the service and, inside a request, its id, trace and span.
 * Members named like a secret are censored at the top, one level down, and among headers; a message text is not searched.
 */
export function createLogger(options: {
  readonly service: string
  readonly level: LogLevel
  /** Default: standard output. */
  readonly destination?: DestinationStream
}): Logger {
  return pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redactLine },
      serializers: { err: (error) => redactValue(stdSerializers.err(error)) },
      mixin: requestFields,
    },
    // With a length of 0 a flush would wait for nothing.
    options.destination ?? pino.destination({ fd: 1, sync: false, minLength: 1 }),
  )
}

function requestFields(): Record<string, string> {
  const fields: Record<string, string> = {}
  const requestId = currentRequestId()
  if (requestId !== undefined) fields.requestId = requestId
  const span = currentSpan()
  if (span !== undefined) {
    fields.traceId = span.traceId
    fields.spanId = span.spanId
  }
  return fields
}
