import { join } from 'node:path'
import type { Transport } from '@connectrpc/connect'
import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import type { Mongo } from '#shared/mongo.ts'
import type { Routes } from '#shared/routes.ts'
import { storePort } from '#shared/store-port.ts'
import { tracedPort } from '#shared/traced-port.ts'
import { watchStore } from '#shared/watch-store.ts'
import { ProviderSet } from './adapters/provider-set.ts'
import { RpcKeyChecker } from './adapters/rpc-key-checker.ts'
import { SqliteLedger } from './adapters/sqlite-ledger.ts'
import { type Config, catalogueOf } from './config.ts'
import type { Ledger } from './ports.ts'
import { inferenceRoutes } from './routes.ts'

/** What the inference service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
  /** The identity service. */
  readonly identity: Transport
}

/** Opens the service. Disposing the answer closes its connections and its store. */
export async function open(config: Config, dependencies: Dependencies): Promise<{ routes: Routes } & AsyncDisposable> {
  const { clock, logger, identity } = dependencies
  await using opening = new AsyncDisposableStack()
  const { ledger: opened, mongo } = await openLedger(config, clock, opening)
  const health = opening.use(watchStore(opened, { name: 'inference', mongo, clock, logger }))
  await health.begin()
  const ledger = storePort(tracedPort(opened, 'Ledger', { 'db.system.name': config.store.kind }), health, {
    writes: ['begin', 'finish'],
  })
  const providers = opening.use(new ProviderSet(config.providers, config.providerTimeoutMs, logger))
  const routes = inferenceRoutes({
    catalogue: catalogueOf(config.providers),
    defaultModel: config.defaultModel,
    providers: providers.byId,
    ledger,
    keys: new RpcKeyChecker(identity),
    timeoutMs: config.generationTimeoutMs,
  })
  const resources = opening.move()
  return { routes: { ...routes, store: health }, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

async function openLedger(
  { store, generationTimeoutMs }: Config,
  clock: Clock,
  resources: AsyncDisposableStack,
): Promise<{ readonly ledger: Ledger; readonly mongo?: Mongo }> {
  if (store.kind === 'sqlite') {
    return { ledger: resources.use(await SqliteLedger.open(join(store.directory, 'inference.sqlite'), clock)) }
  }
  // The driver takes 20 MB, and is not read where it is not used.
  const { openMongo } = await import('#shared/mongo.ts')
  const { MongoLedger } = await import('./adapters/mongo-ledger.ts')
  const mongo = resources.use(await openMongo(store))
  return { ledger: await MongoLedger.open(mongo, clock, generationTimeoutMs), mongo }
}
