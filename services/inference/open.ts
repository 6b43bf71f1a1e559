import { join } from 'node:path'
import type { Transport } from '@connectrpc/connect'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import type { StoreSchema } from '#shared/stores/migrate-stores.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { watchStore } from '#shared/stores/store-watch.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { BundledPrices } from './adapters/bundled-prices.ts'
import { ProviderSet } from './adapters/providers/provider-set.ts'
import { RpcKeyChecker } from './adapters/rpc-key-checker.ts'
import { MONGO, SQLITE, SQLITE_PRESETS } from './adapters/schema.ts'
import { SqliteLedger } from './adapters/sqlite/ledger.ts'
import { SqlitePresetStore } from './adapters/sqlite/preset-store.ts'
import type { Config } from './config.ts'
import { modelListOf } from './domain/model-list.ts'
import type { Ledger } from './ports/ledger.ts'
import type { PresetStore } from './ports/preset-store.ts'
import { createRoutes } from './routes.ts'
import { RowCloser } from './run/row-closer.ts'
import { RowKeeper } from './run/row-keeper.ts'

export const services = [InferenceService, PresetService, UsageService] as const

export const storeSchema: StoreSchema = {
  sqlite: [
    { file: 'inference.sqlite', exclusive: true, schema: SQLITE },
    { file: 'presets.sqlite', exclusive: true, schema: SQLITE_PRESETS },
  ],
  mongo: MONGO,
}

/** An open inference service. Disposal closes its connections and its store. */
export interface Opened extends AsyncDisposable {
  readonly routes: Routes
}

/** What the inference service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
  readonly identity: Transport
}

export async function open(config: Config, dependencies: Dependencies): Promise<Opened> {
  const { clock, logger, identity } = dependencies
  await using opening = new AsyncDisposableStack()
  const { ledger: opened, mongo } = await openLedger(config, clock, opening)
  const health = opening.use(watchStore(opened, { name: 'inference', mongo, clock, logger }))
  await health.begin()
  const ledger = storePort(tracedPort(opened, 'Ledger', { 'db.system.name': config.store.kind }), health, {
    // Settling may mean doing nothing.
    writes: ['open', 'close', 'note'],
  })
  const presets = storePort(
    tracedPort(await openPresets(config, mongo, opening), 'PresetStore', { 'db.system.name': config.store.kind }),
    health,
    { writes: ['createVersion'] },
  )
  const closer = opening.use(new RowCloser(ledger, logger))
  const keeper = opening.use(new RowKeeper(ledger, logger))
  const providers = opening.use(new ProviderSet(config.providers, config.providerTimeoutMs, logger))
  const routes = createRoutes({
    modelList: modelListOf(providers.entries),
    defaultModel: config.defaultModel,
    providers: providers.byId,
    ledger,
    closer,
    presets,
    keeper,
    clock,
    allowUnpriced: config.allowUnpriced,
    logger,
    prices: new BundledPrices(config.providers),
    keys: new RpcKeyChecker(identity),
    timeoutMs: config.generationTimeoutMs,
  })
  const resources = opening.move()
  return { routes: { ...routes, store: health }, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

async function openLedger(
  { store }: Config,
  clock: Clock,
  resources: AsyncDisposableStack,
): Promise<{ readonly ledger: Ledger; readonly mongo?: Mongo }> {
  if (store.kind === 'sqlite') {
    return { ledger: resources.use(await SqliteLedger.open(join(store.directory, 'inference.sqlite'), clock)) }
  }
  // The driver takes 20 MB, so it is only loaded if it is used.
  const { openMongo } = await import('#shared/stores/mongo.ts')
  const { MongoLedger } = await import('./adapters/mongo/ledger.ts')
  const mongo = resources.use(await openMongo(store))
  return { ledger: resources.use(await MongoLedger.open(mongo, clock)), mongo }
}

/** Must be called once the ledger is open, which creates the schema in MongoDB. */
async function openPresets(
  { store }: Config,
  mongo: Mongo | undefined,
  resources: AsyncDisposableStack,
): Promise<PresetStore> {
  if (store.kind === 'sqlite') return resources.use(new SqlitePresetStore(join(store.directory, 'presets.sqlite')))
  if (mongo === undefined) throw new Error('There is no connection to MongoDB')
  const { MongoPresetStore } = await import('./adapters/mongo/preset-store.ts')
  return new MongoPresetStore(mongo)
}
