import { join } from 'node:path'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { StoreConfig } from '#shared/config/store-config.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import type { StoreSchema } from '#shared/stores/migrate-stores.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { watchStore } from '#shared/stores/watch-store.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { SCHEMA } from './adapters/mongo/schema.ts'
import { SqliteIdentityStore } from './adapters/sqlite/identity-store.ts'
import { STEPS } from './adapters/sqlite/schema.ts'
import type { Config } from './config.ts'
import type { IdentityStore } from './ports/identity-store.ts'
import { createRoutes } from './routes.ts'
import { type BootstrapResult, bootstrap } from './run/bootstrap.ts'

/** What this process serves. */
export const services = [IdentityService, FederationService] as const

/** The form of what the service stores. */
export const storeSchema: StoreSchema = {
  sqlite: { file: 'identity.sqlite', exclusive: false, steps: STEPS },
  mongo: SCHEMA,
}

/** The open service. `bootstrap` holds the keys that this start made up; whoever opened it shows them once. */
export interface Opened extends AsyncDisposable {
  readonly routes: Routes
  readonly bootstrap: BootstrapResult
}

/** What the identity service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
}

/** Opens the store and makes sure of what a deployment starts with. */
export async function open(config: Config, dependencies: Dependencies): Promise<Opened> {
  const { clock } = dependencies
  const { kind } = config.store
  await using opening = new AsyncDisposableStack()
  const { store: opened, mongo } = await openStore(config.store, opening)
  const health = opening.use(watchStore(opened, { name: 'identity', mongo, ...dependencies }))
  await health.begin()
  const store = storePort(tracedPort(opened, 'IdentityStore', { 'db.system.name': kind }), health, {
    writes: ['createKey'],
  })
  const result = await bootstrap(store, config, dependencies)
  dependencies.logger.info({ workspaceId: result.workspaceId }, 'Keys and projects belong to this workspace')
  const resources = opening.move()
  return {
    routes: { ...createRoutes({ store, clock, bootstrap: result }), store: health },
    bootstrap: result,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function openStore(
  config: StoreConfig,
  resources: AsyncDisposableStack,
): Promise<{ readonly store: IdentityStore; readonly mongo?: Mongo }> {
  if (config.kind === 'sqlite') {
    return { store: resources.use(new SqliteIdentityStore(join(config.directory, 'identity.sqlite'))) }
  }
  // The driver takes 20 MB, and is not read where it is not used.
  const { openMongo } = await import('#shared/stores/mongo.ts')
  const { MongoIdentityStore } = await import('./adapters/mongo/identity-store.ts')
  const mongo = resources.use(await openMongo(config))
  return { store: await MongoIdentityStore.open(mongo), mongo }
}
