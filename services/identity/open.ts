import { join } from 'node:path'
import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/logging.ts'
import type { Mongo } from '#shared/mongo.ts'
import type { Routes } from '#shared/routes.ts'
import type { StoreConfig } from '#shared/store-config.ts'
import { storePort } from '#shared/store-port.ts'
import { tracedPort } from '#shared/traced-port.ts'
import { watchStore } from '#shared/watch-store.ts'
import { SqliteIdentityStore } from './adapters/sqlite-identity-store.ts'
import type { Config } from './config.ts'
import type { IdentityStore } from './ports.ts'
import { createRoutes } from './routes.ts'
import { type BootstrapResult, bootstrap } from './run/bootstrap.ts'

/** The open service. `bootstrap` holds the keys that this start made up; whoever opened it shows them once. */
export interface Identity extends AsyncDisposable {
  readonly routes: Routes
  readonly bootstrap: BootstrapResult
}

/** Opens the store and makes sure of what a deployment starts with. */
export async function open(
  config: Config,
  dependencies: { readonly clock: Clock; readonly logger: Logger },
): Promise<Identity> {
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
  const { openMongo } = await import('#shared/mongo.ts')
  const { MongoIdentityStore } = await import('./adapters/mongo-identity-store.ts')
  const mongo = resources.use(await openMongo(config))
  return { store: await MongoIdentityStore.open(mongo), mongo }
}
