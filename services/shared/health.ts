import { Code, ConnectError } from '@connectrpc/connect'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { route, type ServiceRoute } from '#shared/routes.ts'

/** The grpc.health.v1 service of one process. */
export interface HealthReporter {
  readonly route: ServiceRoute
  /** Reports NOT_SERVING from now on, to watchers at once, and ends their streams. */
  stop(): void
}

/** Reports on the named services, and under the empty name on the process; all serve until `stop`. */
export function createHealth(serviceNames: readonly string[]): HealthReporter {
  const known = new Set(['', ...serviceNames])
  const stopped = new AbortController()
  const status = (): Status => (stopped.signal.aborted ? Status.NOT_SERVING : Status.SERVING)
  return {
    stop: () => stopped.abort(),
    route: route(Health, {
      check({ service }) {
        if (!known.has(service)) throw new ConnectError('No such service', Code.NotFound)
        return { status: status() }
      },
      list() {
        return { statuses: Object.fromEntries([...known].map((name) => [name, { status: status() }])) }
      },
      async *watch({ service }, { signal }) {
        if (!known.has(service)) {
          yield { status: Status.SERVICE_UNKNOWN }
          await anyAborted(signal, stopped.signal)
          return
        }
        yield { status: status() }
        if (stopped.signal.aborted) return
        await anyAborted(signal, stopped.signal)
        if (!signal.aborted) yield { status: status() }
      },
    }),
  }
}

function anyAborted(...signals: AbortSignal[]): Promise<void> {
  const any = AbortSignal.any(signals)
  if (any.aborted) return Promise.resolve()
  return new Promise((resolve) => any.addEventListener('abort', () => resolve(), { once: true }))
}
