import { isStream } from '#shared/streams.ts'
import {
  type Attributes,
  currentSpan,
  isTracing,
  type OpenSpan,
  openSpan,
  pullInSpan,
} from '#shared/telemetry/tracing.ts'
import { wrapPort } from '#shared/wrap-port.ts'

/**
 * Wraps a port. Each call within a span gets a span of its own, `NAME.method`; periodic background work makes no
 * traces. Call it where the port is opened: if tracing is off by then, it returns the port itself and costs nothing.
 */
export function tracedPort<P extends object>(port: P, name: string, attributes: Attributes = {}): P {
  if (!isTracing()) return port
  return wrapPort(port, (method, call) => {
    const spanName = `${name}.${method}`
    return (...words) => traced(() => call(words), spanName, attributes)
  })
}

function traced(work: () => unknown, name: string, attributes: Attributes): unknown {
  const span = currentSpan() && openSpan(name, { kind: 'client', attributes })
  return span === undefined ? work() : follow(span, work)
}

function follow(span: OpenSpan, work: () => unknown): unknown {
  const failed = (error: unknown): never => {
    span.end({ error })
    throw error
  }
  try {
    const result = span.run(work)
    if (result instanceof Promise) {
      return result.then((value) => {
        span.end()
        return value
      }, failed)
    }
    if (isStream(result)) return pullInSpan(span, result)
    span.end()
    return result
  } catch (error) {
    return failed(error)
  }
}
