import { randomBytes } from 'node:crypto'
import { KEYS, type Process, startProcess } from './processes.ts'

/** The whole product, in one of its two modes. */
export interface Product {
  readonly url: string
  readonly processes: readonly Process[]
  stop(): Promise<void>
  kill(): Promise<void>
}

/** What a mode needs to start. */
export interface Setting {
  /** Data folder of the single process. */
  readonly dataDirectory: string
  /** Default project directory. */
  readonly project: string
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts the single process on SQLite. */
export async function startSingle({ dataDirectory, project, environment = {} }: Setting): Promise<Product> {
  const process = await startProcess('main.ts', { ...common(), PORTICO_DATA_DIR: dataDirectory, ...environment }, [
    project,
  ])
  return productOf(process.url, [process])
}

/** Starts the four services and the gateway as processes of their own, on MongoDB. */
export async function startSplit(uri: string, { project, environment = {} }: Setting): Promise<Product> {
  const shared = {
    ...common(),
    PORTICO_MONGODB_URI: uri,
    PORTICO_SERVICE_PORT: '0',
    PORTICO_INTERNAL_SECRET: randomBytes(24).toString('hex'),
    PORTICO_DIRECTORY: project,
    ...environment,
  }
  const identity = await startProcess('services/identity/main.ts', shared)
  const catalog = await startProcess('services/catalog/main.ts', shared)
  const inference = await startProcess('services/inference/main.ts', { ...shared, PORTICO_IDENTITY_URL: identity.url })
  const peers = { PORTICO_CATALOG_URL: catalog.url, PORTICO_INFERENCE_URL: inference.url }
  const session = await startProcess('services/session/main.ts', { ...shared, ...peers })
  const all = { ...shared, ...peers, PORTICO_IDENTITY_URL: identity.url, PORTICO_SESSION_URL: session.url }
  const gateway = await startProcess('gateway/main.ts', all)
  return productOf(gateway.url, [gateway, session, inference, catalog, identity])
}

function common(): Record<string, string> {
  return {
    PORTICO_HOST: '127.0.0.1',
    PORTICO_PORT: '0',
    PORTICO_BOOTSTRAP_API_KEY: KEYS.api,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: KEYS.management,
  }
}

function productOf(url: string, processes: readonly Process[]): Product {
  return {
    url,
    processes,
    stop: async () => {
      for (const process of processes) await process.stop()
    },
    kill: async () => void (await Promise.all(processes.map((process) => process.kill()))),
  }
}
