import type { DescService } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'

/** One Connect service and its handlers. */
export interface ServiceRoute {
  readonly service: DescService
  readonly implementation: Readonly<Record<string, unknown>>
}

/** What a service offers: handlers, and the reasons that they may reject with. */
export interface Routes {
  /** The ErrorInfo domain: the service's short name. */
  readonly domain: string
  readonly reasons: ReasonTable
  readonly services: readonly ServiceRoute[]
  /** Whether the service's store can be written; absent if it has no store. */
  readonly store?: StoreHealth
  /**
   * Fires, with SERVICE_CLOSING, when the service begins to drain, for callers in its own process; absent if all its
   * calls end by themselves.
   */
  readonly draining?: AbortSignal
}

/** Pairs a service with its implementation, which the type checker requires to be complete. */
export function route<S extends DescService>(service: S, implementation: ServiceImpl<S>): ServiceRoute {
  return { service, implementation: implementation as Readonly<Record<string, unknown>> }
}
