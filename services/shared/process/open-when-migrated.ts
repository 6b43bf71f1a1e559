import { setTimeout as delay } from 'node:timers/promises'
import type { DescService } from '@bufbuild/protobuf'
import type { Routes } from '#shared/rpc/routes.ts'
import { OlderStoreError } from '#shared/stores/schema-step.ts'
import { storeReasons, storeUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** Milliseconds before another attempt to open a store that needs migration. */
const AGAIN_MS = 1_000

/**
 * Opens a service. While its store needs migration, every call is rejected with STORE_UNAVAILABLE, its health is
 * NOT_SERVING, and the reason is logged once. After the migration it opens the service.
 */
export async function openWhenMigrated<S>(
  open: () => Promise<S>,
  {
    name,
    services,
    serve,
    logger,
  }: {
    readonly name: string
    readonly services: readonly DescService[]
    readonly serve: (routes: Routes) => Promise<AsyncDisposable & { readonly url: string }>
    readonly logger: Logger
  },
): Promise<S> {
  const first = await openOrOlder(open)
  if (!(first instanceof OlderStoreError)) return first
  await using waiting = await serve(waitingRoutes(name, services, first))
  logger.error({ url: waiting.url }, `${first.message}. Until then no request is served`)
  for (;;) {
    await delay(AGAIN_MS)
    const service = await openOrOlder(open)
    if (!(service instanceof OlderStoreError)) return service
  }
}

async function openOrOlder<S>(open: () => Promise<S>): Promise<S | OlderStoreError> {
  try {
    return await open()
  } catch (error) {
    if (error instanceof OlderStoreError) return error
    throw error
  }
}

function waitingRoutes(domain: string, services: readonly DescService[], { message }: Error): Routes {
  const refuse = (): never => {
    throw storeUnavailable(message)
  }
  const implementationOf = ({ methods }: DescService) =>
    Object.fromEntries(methods.map(({ localName }) => [localName, refuse]))
  return {
    domain,
    reasons: storeReasons,
    services: services.map((service) => ({ service, implementation: implementationOf(service) })),
    store: { state: () => ({ ok: false, kind: 'away' }), onChange: () => ({ [Symbol.dispose]() {} }) },
  }
}
