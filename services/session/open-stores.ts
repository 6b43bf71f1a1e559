import { join } from 'node:path'
import type { Clock } from '#shared/clock.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { watchStore } from '#shared/stores/watch-store.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { openFileBlobStore } from './adapters/files/blob-store.ts'
import { openSqliteSessionStore } from './adapters/sqlite/open-session-store.ts'
import type { Config } from './config.ts'
import type { BlobStore } from './ports/blob-store.ts'
import type { SessionStore } from './ports/session-store.ts'

/** Calls whose success shows that the store accepts writes. */
const WRITES = ['renewLease'] as const

/** The ports of the store, with spans; they throw STORE_UNAVAILABLE if the store is to blame. */
export interface Stores {
  readonly store: SessionStore
  readonly blobs: BlobStore
  /** The same for holders of leases, whose calls take as long as they need. */
  readonly patient: { readonly store: SessionStore; readonly blobs: BlobStore }
  readonly health: StoreHealth
}

/** Opens the store, and begins to watch it. */
export async function openStores(
  config: Config,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  resources: AsyncDisposableStack,
): Promise<Stores> {
  const attributes = { 'db.system.name': config.store.kind }
  const { store, blobs, mongo } = await openAdapters(config, { clock, logger }, resources)
  const health = resources.use(watchStore(store, { name: 'session', mongo, clock, logger }))
  await health.begin()
  const traced = {
    store: tracedPort(store, 'SessionStore', attributes),
    blobs: tracedPort(blobs, 'BlobStore', mongo === undefined ? {} : attributes),
  }
  return {
    store: storePort(traced.store, health),
    blobs: storePort(traced.blobs, health),
    patient: {
      store: storePort(traced.store, health, { limited: false, writes: WRITES }),
      blobs: storePort(traced.blobs, health, { limited: false }),
    },
    health,
  }
}

async function openAdapters(
  { store: config, autoResume }: Config,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  resources: AsyncDisposableStack,
): Promise<Stores['patient'] & { readonly mongo?: Mongo }> {
  if (config.kind === 'sqlite') {
    const store = resources.use(
      await openSqliteSessionStore({
        path: join(config.directory, 'session.sqlite'),
        clock,
        park: !autoResume,
        logger,
      }),
    )
    const blobs = resources.use(
      await openFileBlobStore({ directory: join(config.directory, 'blobs'), uses: store.blobUses }),
    )
    return { store, blobs }
  }
  // The driver takes 20 MB of memory, and is only loaded where it is used.
  const { openMongo } = await import('#shared/stores/mongo.ts')
  const { openMongoBlobStore } = await import('./adapters/mongo/blob-store.ts')
  const { openMongoSessionStore } = await import('./adapters/mongo/session-store.ts')
  const mongo = resources.use(await openMongo(config))
  const store = resources.use(await openMongoSessionStore({ mongo, clock }))
  return { store, blobs: resources.use(openMongoBlobStore({ mongo })), mongo }
}
