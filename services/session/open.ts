import { join } from 'node:path'
import type { Transport } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId, timedId } from '#shared/ids.ts'
import { Places } from '#shared/places.ts'
import type { Leaving } from '#shared/process/leave.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { serviceClosing } from '#shared/rpc/server-reasons.ts'
import type { StoreSchema } from '#shared/stores/migrate-stores.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { watchStore } from '#shared/stores/store-watch.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { openFileBlobStore } from './adapters/files/blob-store.ts'
import { RpcCatalogPeer } from './adapters/rpc/catalog-peer.ts'
import { RpcInferencePeer } from './adapters/rpc/inference-peer.ts'
import { MONGO, SQLITE } from './adapters/schema.ts'
import { openSqliteSessionStore } from './adapters/sqlite/open-session-store.ts'
import type { Config } from './config.ts'
import type { BlobStore } from './ports/blob-store.ts'
import type { SessionStore } from './ports/session-store.ts'
import { createRoutes } from './routes.ts'
import { drainSession } from './run/drain.ts'
import { EventExpiry } from './run/events/event-expiry.ts'
import { EventHub } from './run/events/event-hub.ts'
import { Remover } from './run/lifetime/remover.ts'
import { type Pause, pause } from './run/pause.ts'
import { PromptHooks } from './run/prompt-hooks.ts'
import { Scheduler } from './run/scheduler.ts'
import { SessionWatchers } from './run/session-watchers.ts'
import { Slots } from './run/slots.ts'
import { WaitingParents } from './run/subagents/waiting-parents.ts'
import { Titles } from './run/titles/titles.ts'

/** Maximum number of sessions of a process that wait for a person or a time: each keeps its conversation in memory. */
const MOST_WAITING_SESSIONS = 5_000
/** Of one workspace. */
const MOST_WAITING_OF_ONE_WORKSPACE = 1_000

/** Calls whose success shows that the store accepts writes. */
const WRITES = ['renewLease'] as const

/** How many child sessions are created at once. */
const CHILDREN_AT_ONCE = 4

/** What this process serves. */
export const services = [SessionService] as const

export const storeSchema: StoreSchema = {
  sqlite: [{ file: 'session.sqlite', exclusive: true, schema: SQLITE }],
  mongo: MONGO,
}

/** What the session service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
  readonly catalog: Transport
  readonly inference: Transport
  /** Waits before a retry; default: by the system's timers. */
  readonly pause?: Pause
  /** Milliseconds between two polls for what nobody is notified of; default: one or two seconds. */
  readonly pollMs?: number | undefined
}

/** An open session service. While draining, it acquires no more sessions, and lets runs come to an end. */
export interface Opened extends Required<Pick<Leaving, 'drain'>>, AsyncDisposable {
  readonly routes: Routes
}

/**
 * Opens the service, and continues every run that was cut off. Disposing it stops the runs so that the next start
 * continues them, and closes the stores; the peers must outlive it.
 */
export async function open(config: Config, dependencies: Dependencies): Promise<Opened> {
  const { clock, logger } = dependencies
  await using opening = new AsyncDisposableStack()
  const { store, blobs, patient, health } = await openStores(config, dependencies, opening)
  const watchers = opening.use(new SessionWatchers(store, dependencies.pollMs))
  const hub = new EventHub(store)
  const catalog = new RpcCatalogPeer(dependencies.catalog)
  const inference = new RpcInferencePeer(dependencies.inference)
  const titles = opening.use(new Titles({ store, catalog, inference, logger }))
  const promptHooks = new PromptHooks({ catalog, clock, logger })
  const closing = new AbortController()
  opening.defer(() => closing.abort(new Error('The service is closing')))
  const run = {
    ...patient,
    catalog,
    inference,
    hub,
    watchers,
    titles,
    clock,
    logger,
    health,
    closing: closing.signal,
    newId: (prefix: Parameters<typeof timedId>[0]) => timedId(prefix, clock),
    pause: dependencies.pause ?? pause,
    random: Math.random,
    compactionPercent: config.compactionPercent,
    permissionTimeoutMs: config.permissionTimeoutMs,
    subagents: {
      depth: config.taskDepth,
      limitMs: config.taskTimeoutMs,
      places: new Places(CHILDREN_AT_ONCE),
      parents: new WaitingParents(MOST_WAITING_SESSIONS / 2, MOST_WAITING_OF_ONE_WORKSPACE / 2),
    },
    autoResume: config.autoResume,
    leaseMs: config.leaseMs,
    startedAt: clock.monotonic(),
    fences: new Map<string, number>(),
  }
  const scheduler = opening.use(
    new Scheduler({
      store: patient.store,
      watchers,
      clock,
      logger,
      owner: randomId('own'),
      leaseMs: config.leaseMs,
      slots: new Slots(config.maxRuns),
      maxOwned: config.maxRuns + MOST_WAITING_SESSIONS,
      maxOwnedOfOne: config.maxRuns + MOST_WAITING_OF_ONE_WORKSPACE,
      pollMs: dependencies.pollMs,
      drain: (tenure, slot) => drainSession(run, tenure, slot),
    }),
  )
  const expiry = { store: patient.store, clock, logger, retentionMs: config.eventRetentionMs }
  opening.use(new EventExpiry(expiry))
  const remover = opening.use(new Remover({ ...run, pollMs: dependencies.pollMs }))
  const draining = new AbortController()
  const resources = opening.move()
  return {
    routes: {
      ...createRoutes({ store, blobs, catalog, hub, watchers, remover, titles, health, clock, logger, promptHooks }),
      store: health,
      draining: draining.signal,
    },
    drain: (ms) => {
      draining.abort(serviceClosing())
      return scheduler.drain(ms)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** The ports of the store, with spans; they throw STORE_UNAVAILABLE if the store is to blame. */
interface Stores {
  readonly store: SessionStore
  readonly blobs: BlobStore
  /** The same for holders of leases, whose calls take as long as they need. */
  readonly patient: { readonly store: SessionStore; readonly blobs: BlobStore }
  readonly health: StoreHealth
}

/** Opens the store, and begins to watch it. */
async function openStores(
  config: Config,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  resources: AsyncDisposableStack,
): Promise<Stores> {
  const attributes = { 'db.system.name': config.store.kind }
  const { store, blobs, mongo } = await openAdapters(config, clock, resources)
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
  clock: Clock,
  resources: AsyncDisposableStack,
): Promise<Stores['patient'] & { readonly mongo?: Mongo }> {
  if (config.kind === 'sqlite') {
    const store = resources.use(
      await openSqliteSessionStore({
        path: join(config.directory, 'session.sqlite'),
        clock,
        park: !autoResume,
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
