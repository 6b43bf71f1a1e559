import type { Transport } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId, timedId } from '#shared/ids.ts'
import { lazyModule } from '#shared/lazy/lazy-module.ts'
import { Places } from '#shared/places.ts'
import type { Leaving } from '#shared/process/leave.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { serviceClosing } from '#shared/rpc/server-reasons.ts'
import type { StoreSchema } from '#shared/stores/migrate-stores.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { SCHEMA as MONGO } from './adapters/mongo/schema.ts'
import { RpcCatalogPeer } from './adapters/rpc/catalog-peer.ts'
import { RpcInferencePeer } from './adapters/rpc/inference-peer.ts'
import { SCHEMA as SQLITE } from './adapters/sqlite/schema.ts'
import type { Config } from './config.ts'
import { openStores } from './open-stores.ts'
import { createRoutes } from './routes.ts'
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

const runs = lazyModule(() => import('./run/drain.ts'))

/** Maximum number of sessions of a process that wait for a person or a time: each keeps its conversation in memory. */
const MOST_WAITING_SESSIONS = 5_000
/** Of one workspace. */
const MOST_WAITING_OF_ONE_WORKSPACE = 1_000

/** How many child sessions are created at once. */
const CHILDREN_AT_ONCE = 4

/** What this process serves. */
export const services = [SessionService] as const

/** The form of what the service stores. */
export const storeSchema: StoreSchema = {
  sqlite: [{ file: 'session.sqlite', exclusive: true, schema: SQLITE }],
  mongo: MONGO,
}

/** What the session service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
  /** The catalog service. */
  readonly catalog: Transport
  /** The inference service. */
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
      drain: async (tenure, slot) => (await runs()).drainSession(run, tenure, slot),
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
