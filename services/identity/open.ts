import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { StoreConfig } from '#shared/config/store-config.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import type { StoreSchema } from '#shared/stores/migrate-stores.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { type StoreWatch, watchStore } from '#shared/stores/store-watch.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { CelConditions } from './adapters/cel/cel-conditions.ts'
import { encryptionKeyPath, folderEncryptionKey } from './adapters/encryption-key.ts'
import { FetchedIssuerKeys, type FetchLimits } from './adapters/issuer-keys/fetched-issuer-keys.ts'
import { JoseSignatures } from './adapters/jose-signatures.ts'
import { MONGO, SQLITE } from './adapters/schema.ts'
import { openSqliteStores } from './adapters/sqlite/stores.ts'
import type { Config } from './config.ts'
import type { SigningKeys } from './ports/signing-keys.ts'
import type { Ports, Stores } from './ports/stores.ts'
import type { TokenSignatures } from './ports/token-signatures.ts'
import { createRoutes } from './routes.ts'
import { AccessTokens } from './run/access-token/access-tokens.ts'
import { KeyRing } from './run/access-token/key-ring.ts'
import { KeySeal } from './run/access-token/key-seal.ts'
import { AuditRetention } from './run/audit-retention.ts'
import { type BootstrapResult, bootstrap } from './run/bootstrap.ts'
import { Exchange } from './run/exchange/exchange.ts'
import { ExchangeSteps } from './run/exchange/exchange-steps.ts'
import { RefusalLog } from './run/exchange/refusal-log.ts'

export const services = [IdentityService, FederationService] as const

export const storeSchema: StoreSchema = {
  sqlite: [{ file: 'identity.sqlite', exclusive: false, schema: SQLITE }],
  mongo: MONGO,
}

/** The open service. `bootstrap` contains the keys that this start generated, which must be shown once. */
export interface Opened extends AsyncDisposable {
  readonly routes: Routes
  readonly bootstrap: BootstrapResult
}

/** What the identity service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
  /** Origin of the gateway in the same process, if the settings set none. */
  readonly gatewayOrigin?: string
  readonly fetchLimits?: Partial<FetchLimits>
}

/** Where a gateway without settings listens. */
const DEFAULT_ORIGIN = 'http://127.0.0.1:4096'

/** Opens the store, and makes sure that what a deployment starts with exists. */
export async function open(config: Config, dependencies: Dependencies): Promise<Opened> {
  const { clock } = dependencies
  await using opening = new AsyncDisposableStack()
  const { stores: opened, mongo } = await openStores(config.store, clock, opening)
  const health = opening.use(watchStore(opened, { name: 'identity', mongo, ...dependencies }))
  await health.begin()
  const { identity: store, ...stores } = watchedStores(opened, health, config.store.kind)
  const ring = await KeyRing.open({
    store: stores.signingKeys,
    seal: await sealOf(config, stores.signingKeys),
    ...dependencies,
  })
  const issuer = config.publicOrigin ?? dependencies.gatewayOrigin ?? DEFAULT_ORIGIN
  const signatures = tracedPort(new JoseSignatures(), 'TokenSignatures')
  const tokens = new AccessTokens({ ring, signatures, issuer, clock })
  const { sharedIssuers } = config
  const result = await bootstrap(store, config, dependencies)
  // Not earlier: on a full disk, writes that share a commit with it fail with it.
  if (config.auditDays > 0) {
    const retention = { audit: stores.auditLog, keepDays: config.auditDays }
    opening.use(new AuditRetention({ ...retention, ...dependencies }))
  }
  const exchanges = openExchanges({ ...dependencies, config, stores, signatures, tokens, issuer }, opening)
  dependencies.logger.info({ workspaceId: result.workspaceId }, 'Keys and projects belong to this workspace')
  const resources = opening.move()
  return {
    routes: {
      ...createRoutes({
        ...stores,
        ...exchanges,
        store,
        sharedIssuers,
        ring,
        tokens,
        clock,
        bootstrap: result,
      }),
      store: health,
    },
    bootstrap: result,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

interface ExchangesOptions {
  readonly config: Config
  readonly stores: Omit<Ports, 'identity'>
  readonly signatures: TokenSignatures
  readonly tokens: AccessTokens
  /** The gateway's origin, as access tokens name it. */
  readonly issuer: string
  readonly clock: Clock
  readonly logger: Logger
  readonly fetchLimits?: Partial<FetchLimits>
}

/** Opens the part that exchanges tokens; it ends with the resources. */
function openExchanges(options: ExchangesOptions, resources: AsyncDisposableStack) {
  const { config, stores, signatures, tokens, issuer, clock, logger, fetchLimits: limits } = options
  const { federation, auditLog: audit, issuerHealth: health } = stores
  const keySettings = { networks: config.federationNetworks, ownOrigin: issuer }
  const fetchedKeys = new FetchedIssuerKeys({ ...keySettings, health, clock, logger, limits })
  const issuerKeys = tracedPort(resources.use(fetchedKeys), 'IssuerKeys')
  const conditions = new CelConditions()
  const steps = new ExchangeSteps({ keys: issuerKeys, signatures, conditions, ownIssuer: issuer })
  const refusals = resources.use(new RefusalLog({ audit, clock, logger }))
  const exchange = new Exchange({ federation, steps, tokens, audit, refusals, clock })
  return { issuerKeys, conditions, steps, exchange }
}

/** The ports of the stores with spans, and with STORE_UNAVAILABLE for failures of the store. */
function watchedStores(stores: Stores, health: StoreWatch, kind: StoreConfig['kind']): Ports {
  const watched = <P extends object>(name: string, port: P, writes: readonly (keyof P)[] = []): P =>
    storePort(tracedPort(port, name, { 'db.system.name': kind }), health, { writes })
  return {
    identity: watched('IdentityStore', stores.identity, ['createKey']),
    organizations: watched('OrganizationStore', stores.organizations, ['createOrganization']),
    federation: watched('FederationStore', stores.federation, ['createIssuer', 'createPolicy']),
    issuerHealth: watched('IssuerHealth', stores.issuerHealth),
    auditLog: watched('AuditLog', stores.auditLog, ['append', 'appendOnce']),
    signingKeys: watched('SigningKeys', stores.signingKeys),
    exchangeCounts: watched('ExchangeCounts', stores.exchangeCounts),
  }
}

async function openStores(
  config: StoreConfig,
  clock: Clock,
  resources: AsyncDisposableStack,
): Promise<{ readonly stores: Stores; readonly mongo?: Mongo }> {
  if (config.kind === 'sqlite') {
    return { stores: resources.use(openSqliteStores(join(config.directory, 'identity.sqlite'), clock)) }
  }
  // The driver takes 20 MB, so it is only loaded if it is used.
  const { openMongo } = await import('#shared/stores/mongo.ts')
  const { openMongoStores } = await import('./adapters/mongo/stores.ts')
  const mongo = resources.use(await openMongo(config))
  return { stores: resources.use(await openMongoStores(mongo)), mongo }
}

/**
 * What encrypts the signing keys: the operator's keys or, in a data folder, the one that its first start created. That
 * one is also used to decrypt what it has encrypted if others are given. Undefined: a MongoDB store without a key.
 */
async function sealOf({ encryptionKeys: keys, store }: Config, stored: SigningKeys): Promise<KeySeal | undefined> {
  const setting = { keys, source: 'PORTICO_KEY_ENCRYPTION_KEY' }
  if (store.kind === 'mongodb') return keys.length === 0 ? undefined : new KeySeal(setting)
  const path = encryptionKeyPath(store.directory)
  if (keys.length > 0 && !existsSync(path)) return new KeySeal(setting)
  const own = folderEncryptionKey(store.directory, (await stored.list()).length > 0)
  return new KeySeal(keys.length > 0 ? { ...setting, keys: [...keys, own] } : { keys: [own], source: path })
}
