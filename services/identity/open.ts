import { join } from 'node:path'
import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/logging.ts'
import type { Routes } from '#shared/routes.ts'
import type { StoreConfig } from '#shared/store-config.ts'
import { tracedPort } from '#shared/traced-port.ts'
import { MongoIdentityStore } from './adapters/mongo-identity-store.ts'
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
  const { kind } = config.store
  const store = tracedPort(await openStore(config.store), 'IdentityStore', { 'db.system.name': kind })
  try {
    const result = await bootstrap(store, config, dependencies)
    return {
      routes: createRoutes({ store, clock: dependencies.clock, bootstrap: result }),
      bootstrap: result,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }
  } catch (error) {
    await store[Symbol.asyncDispose]()
    throw error
  }
}

async function openStore(store: StoreConfig): Promise<IdentityStore> {
  if (store.kind === 'mongodb') return MongoIdentityStore.open(store)
  return new SqliteIdentityStore(join(store.directory, 'identity.sqlite'))
}
