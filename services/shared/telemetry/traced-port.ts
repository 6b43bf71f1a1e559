import {
  type Attributes,
  currentSpan,
  isTracing,
  type OpenSpan,
  openSpan,
  pullInSpan,
} from '#shared/telemetry/tracing.ts'

/**
 * A port whose every call within a span has one of its own, `NAME.method`; what is looked at by and by in the background
 * makes no traces. Call it where the port is opened: when tracing is off by then, it
 * returns the port itself and costs nothing.
 */
export function tracedPort<P extends object>(port: P, name: string, attributes: Attributes = {}): P {
  if (!isTracing()) return port
  const wrapped = new Map<PropertyKey, unknown>()
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      // Symbols (disposal) and Node's and JavaScript's own protocols are no calls of the port.
      if (typeof key === 'symbol' || key === 'constructor') return member.bind(target)
      let traced = wrapped.get(key)
      if (traced === undefined) {
        traced = (...words: unknown[]) => call(() => Reflect.apply(member, target, words), `${name}.${key}`, attributes)
        wrapped.set(key, traced)
      }
      return traced
    },
  })
}

function call(work: () => unknown, name: string, attributes: Attributes): unknown {
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

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
