import { Code, ConnectError } from '@connectrpc/connect'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { type Routes, route, type ServiceRoute } from '#shared/rpc/routes.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'

/** The grpc.health.v1 service of one process. */
export interface HealthReporter {
  readonly route: ServiceRoute
  /** Reports NOT_SERVING from now on, immediately to watchers, and ends their streams. */
  stop(): void
}

/**
 * Reports the health of each service, and under the empty name that of the process, which is serving if all its
 * services are. A service is serving until `stop`, except while its store cannot be written. Watchers are notified
 * immediately.
 */
export function createHealth(all: readonly Routes[]): HealthReporter {
  const stores = new Map<string, readonly StoreHealth[]>()
  for (const { services, store } of all) {
    for (const { service } of services) stores.set(service.typeName, store === undefined ? [] : [store])
  }
  stores.set('', [...stores.values()].flat())
  const stopped = new AbortController()
  const status = (own: readonly StoreHealth[]): Status => {
    const serving = !stopped.signal.aborted && own.every((store) => store.state().ok)
    return serving ? Status.SERVING : Status.NOT_SERVING
  }
  return {
    stop: () => stopped.abort(),
    route: route(Health, {
      check({ service }) {
        const own = stores.get(service)
        if (own === undefined) throw new ConnectError('No such service', Code.NotFound)
        return { status: status(own) }
      },
      list() {
        return { statuses: Object.fromEntries([...stores].map(([name, own]) => [name, { status: status(own) }])) }
      },
      async *watch({ service }, { signal }) {
        const own = stores.get(service)
        const ended = AbortSignal.any([signal, stopped.signal])
        if (own === undefined) {
          yield { status: Status.SERVICE_UNKNOWN }
          await changeOf([], ended)
          return
        }
        for (let sent: Status | undefined; !signal.aborted; ) {
          const changed = changeOf(own, ended)
          const now = status(own)
          if (now !== sent) yield { status: now }
          sent = now
          if (stopped.signal.aborted) return
          await changed
        }
      },
    }),
  }
}

/** Resolves when the state of one of the stores changes, or the signal aborts. */
function changeOf(stores: readonly StoreHealth[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      for (const listener of listeners) listener[Symbol.dispose]()
      resolve()
    }
    const listeners = stores.map((store) => store.onChange(done))
    if (signal.aborted) done()
    else signal.addEventListener('abort', done, { once: true })
  })
}
