import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { StoreConfig } from '#shared/config/store-config.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import type { StoreSchema } from '#shared/stores/migrate-stores.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { watchStore } from '#shared/stores/watch-store.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { encryptionKeyPath, folderEncryptionKey } from './adapters/files/encryption-key.ts'
import { MemoryExchangeCounts } from './adapters/memory/exchange-counts.ts'
import { SCHEMA } from './adapters/mongo/schema.ts'
import { SqliteIdentityStore } from './adapters/sqlite/identity-store.ts'
import { STEPS } from './adapters/sqlite/schema.ts'
import { SqliteSigningKeys } from './adapters/sqlite/signing-keys.ts'
import type { Config } from './config.ts'
import type { ExchangeCounts } from './ports/exchange-counts.ts'
import type { IdentityStore } from './ports/identity-store.ts'
import type { SigningKeys } from './ports/signing-keys.ts'
import { createRoutes } from './routes.ts'
import { AccessTokens } from './run/access-token/access-tokens.ts'
import { KeyRing } from './run/access-token/key-ring.ts'
import { KeySeal } from './run/access-token/key-seal.ts'
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
  /** Origin of the gateway in the same process, where the settings name none. */
  readonly gatewayOrigin?: string
}

/** Where a gateway listens that has no settings. */
const DEFAULT_ORIGIN = 'http://127.0.0.1:4096'

/** Opens the store and makes sure of what a deployment starts with. */
export async function open(config: Config, dependencies: Dependencies): Promise<Opened> {
  const { clock } = dependencies
  const { kind } = config.store
  await using opening = new AsyncDisposableStack()
  const place = await openStore(config.store, opening)
  const { store: opened, signingKeys: openedKeys, exchangeCounts: openedCounts, mongo } = place
  const health = opening.use(watchStore(opened, { name: 'identity', mongo, ...dependencies }))
  await health.begin()
  const store = storePort(tracedPort(opened, 'IdentityStore', { 'db.system.name': kind }), health, {
    writes: ['createKey'],
  })
  const signingKeys = storePort(tracedPort(openedKeys, 'SigningKeys', { 'db.system.name': kind }), health)
  const ring = await KeyRing.open({ store: signingKeys, seal: await sealOf(config, signingKeys), ...dependencies })
  const issuer = config.publicOrigin ?? dependencies.gatewayOrigin ?? DEFAULT_ORIGIN
  const tokens = new AccessTokens({ ring, issuer, clock })
  const exchangeCounts = storePort(tracedPort(openedCounts, 'ExchangeCounts', { 'db.system.name': kind }), health)
  const result = await bootstrap(store, config, dependencies)
  dependencies.logger.info({ workspaceId: result.workspaceId }, 'Keys and projects belong to this workspace')
  const resources = opening.move()
  return {
    routes: { ...createRoutes({ store, ring, tokens, exchangeCounts, clock, bootstrap: result }), store: health },
    bootstrap: result,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

interface Place {
  readonly store: IdentityStore
  readonly signingKeys: SigningKeys
  readonly exchangeCounts: ExchangeCounts
  readonly mongo?: Mongo
}

async function openStore(config: StoreConfig, resources: AsyncDisposableStack): Promise<Place> {
  if (config.kind === 'sqlite') {
    const path = join(config.directory, 'identity.sqlite')
    const store = resources.use(new SqliteIdentityStore(path))
    const file = resources.use(new SqliteFile(path, { steps: STEPS, exclusive: false }))
    return { store, signingKeys: new SqliteSigningKeys(file), exchangeCounts: new MemoryExchangeCounts() }
  }
  // The driver takes 20 MB, and is not read where it is not used.
  const { openMongo } = await import('#shared/stores/mongo.ts')
  const { MongoExchangeCounts } = await import('./adapters/mongo/exchange-counts.ts')
  const { MongoIdentityStore } = await import('./adapters/mongo/identity-store.ts')
  const { MongoSigningKeys } = await import('./adapters/mongo/signing-keys.ts')
  const mongo = resources.use(await openMongo(config))
  const store = await MongoIdentityStore.open(mongo)
  return { store, signingKeys: new MongoSigningKeys(mongo), exchangeCounts: new MongoExchangeCounts(mongo.db), mongo }
}

/**
 * What encrypts the signing keys: the keys that the operator gives; else, in a data folder, the one that its first start made, which
 * opens what it has encrypted also when others are given. Undefined: a MongoDB store, and no key.
 */
async function sealOf({ encryptionKeys: given, store }: Config, stored: SigningKeys): Promise<KeySeal | undefined> {
  const setting = { keys: given, source: 'PORTICO_KEY_ENCRYPTION_KEY' }
  if (store.kind === 'mongodb') return given.length === 0 ? undefined : new KeySeal(setting)
  const path = encryptionKeyPath(store.directory)
  if (given.length > 0 && !existsSync(path)) return new KeySeal(setting)
  const own = folderEncryptionKey(store.directory, (await stored.list()).length > 0)
  return new KeySeal(given.length > 0 ? { ...setting, keys: [...given, own] } : { keys: [own], source: path })
}
