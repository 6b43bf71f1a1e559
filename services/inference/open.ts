import { join } from 'node:path'
import type { Transport } from '@connectrpc/connect'
import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import type { Routes } from '#shared/routes.ts'
import { EchoProvider } from './adapters/echo-provider.ts'
import { RpcKeyChecker } from './adapters/rpc-key-checker.ts'
import { SqliteLedger } from './adapters/sqlite-ledger.ts'
import type { Config } from './config.ts'
import { echoEntry } from './domain/catalogue.ts'
import type { ModelProvider } from './ports.ts'
import { inferenceRoutes } from './routes.ts'

/** What the inference service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
  /** The identity service. */
  readonly identity: Transport
}

/** Opens the service. Disposing the answer closes its store and its connections. */
export async function open(config: Config, dependencies: Dependencies): Promise<{ routes: Routes } & AsyncDisposable> {
  const ledger = await SqliteLedger.open(join(config.store.directory, 'inference.sqlite'), dependencies.clock)
  const providers = new Map<string, ModelProvider>([[echoEntry.id, new EchoProvider(echoEntry.id)]])
  const routes = inferenceRoutes({
    catalogue: [echoEntry],
    defaultModel: 'portico/echo',
    providers,
    ledger,
    keys: new RpcKeyChecker(dependencies.identity),
    timeoutMs: config.generationTimeoutMs,
  })
  return { routes, [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose]() }
}
