import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { z } from 'zod'
import { mustBe } from '#shared/config/variables.ts'
import { redactLine, redactValue } from '#shared/telemetry/redaction.ts'
import { currentRequestId } from '#shared/telemetry/request-scope.ts'
import { currentSpan } from '#shared/telemetry/tracing.ts'

export type { Logger } from 'pino'

/** From the most verbose to none. */
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Maximum number of characters in lines that wait to be written. */
const MAX_BUFFERED = 8 * 1_048_576

export type LogLevel = (typeof logLevels)[number]

/** The variable that sets the level, default `info`; spread it into the schema of an entry file. */
export const logVariables = {
  PORTICO_LOG_LEVEL: z.enum(logLevels, mustBe(`one of ${logLevels.join(', ')}`)).default('info'),
}

/**
 * Makes a logger that writes JSON lines. Each line names the service and, within a request, its id, trace and span.
 * Members whose names suggest a secret are censored at the top, one level down, and among headers; the text of a
 * message is not searched.
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
    options.destination ?? standardOutput(),
  )
}

/** Lines that cannot be written wait, and further ones are dropped: a full disk must not stop anybody. */
function standardOutput(): DestinationStream {
  // With a length of 0, a flush would wait for nothing.
  const output = pino.destination({ fd: 1, sync: false, minLength: 1, maxLength: MAX_BUFFERED })
  const flush = output.flushSync.bind(output)
  let fails = false
  output.on('error', () => {
    fails = true
  })
  output.on('write', () => {
    fails = false
  })
  // It repeats a failing write until it succeeds, and blocks the event loop meanwhile.
  const flushUnlessItFails = (): void => {
    if (!fails) flush()
  }
  return Object.assign(output, { flushSync: flushUnlessItFails })
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
