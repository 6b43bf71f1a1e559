import { join } from 'node:path'
import type { Transport } from '@connectrpc/connect'
import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import { openMongo } from '#shared/mongo.ts'
import type { Routes } from '#shared/routes.ts'
import { tracedPort } from '#shared/traced-port.ts'
import { MongoLedger } from './adapters/mongo-ledger.ts'
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
  const ledger = await openLedger(config, clock)
  const providers = new ProviderSet(config.providers, config.providerTimeoutMs, logger)
  const routes = inferenceRoutes({
    catalogue: catalogueOf(config.providers),
    defaultModel: config.defaultModel,
    providers: providers.byId,
    ledger,
    keys: new RpcKeyChecker(identity),
    timeoutMs: config.generationTimeoutMs,
  })
  return {
    routes,
    async [Symbol.asyncDispose]() {
      await providers[Symbol.asyncDispose]()
      await ledger[Symbol.asyncDispose]()
    },
  }
}

async function openLedger({ store, generationTimeoutMs }: Config, clock: Clock): Promise<Ledger> {
  if (store.kind === 'sqlite') {
    const ledger = await SqliteLedger.open(join(store.directory, 'inference.sqlite'), clock)
    return tracedPort(ledger, 'Ledger', { 'db.system.name': store.kind })
  }
  await using stack = new AsyncDisposableStack()
  const ledger = await MongoLedger.open(stack.use(await openMongo(store)), clock, generationTimeoutMs)
  stack.move()
  return tracedPort(ledger, 'Ledger', { 'db.system.name': store.kind })
}
