import type { DescMethod } from '@bufbuild/protobuf'
import type { Interceptor } from '@connectrpc/connect'
import { callContextKey } from '#shared/rpc/call-context.ts'
import { wrapSteps } from '#shared/streams.ts'
import { withRequestId, withStoreTime } from '#shared/telemetry/request-scope.ts'
import {
  type Carrier,
  isTracing,
  type OpenSpan,
  openSpan,
  pullInSpan,
  type SpanOptions,
} from '#shared/telemetry/tracing.ts'

const spanNames = new WeakMap<DescMethod, string>()

/**
 * Opens the span of a call, named `package.Service/Method` as OpenTelemetry's RPC conventions require
 * (semantic-conventions 1.45). Undefined if tracing is off.
 */
export function openRpcSpan(method: DescMethod, kind: NonNullable<SpanOptions['kind']>, carrier?: Carrier) {
  if (!isTracing()) return undefined
  let name = spanNames.get(method)
  if (name === undefined) {
    name = `${method.parent.typeName}/${method.name}`
    spanNames.set(method, name)
  }
  const attributes = { 'rpc.system.name': 'connectrpc', 'rpc.method': name }
  return openSpan(name, { kind, attributes, carrier })
}

/**
 * Runs a call from another process, and each message of a stream, within its request id, its span and its time limit
 * for stores.
 */
export const scopeInterceptor: Interceptor = (next) => async (request) => {
  const { requestId } = request.contextValues.get(callContextKey)
  const span = openRpcSpan(request.method, 'server', {
    traceparent: request.header.get('traceparent') ?? undefined,
    tracestate: request.header.get('tracestate') ?? undefined,
  })
  const scope = <T>(work: () => T): T => withRequestId(requestId, () => runIn(span, work))
  const call = () => (request.stream ? next(request) : withStoreTime(() => next(request)))
  try {
    const response = await scope(call)
    if (response.stream) {
      const message = wrapSteps(response.message, (step) => withRequestId(requestId, step))
      return { ...response, message: span === undefined ? message : pullInSpan(span, message) }
    }
    span?.end()
    return response
  } catch (error) {
    span?.end({ error })
    throw error
  }
}

/** Runs work in a span, if there is one. */
export function runIn<T>(span: OpenSpan | undefined, work: () => T): T {
  return span === undefined ? work() : span.run(work)
}
