import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mongoUri } from './mongo.ts'
import { KEYS, type Process, startProcess } from './processes.ts'

/** The whole product, in one of its two modes. */
export interface Product {
  readonly url: string
  /** Ends it like Ctrl-C; returns 0 if every process exited with 0, else another exit code. */
  stop(): Promise<number | null>
  kill(): Promise<void>
  /** The environment of its processes. */
  pids(): number[]
  processes(): readonly Process[]
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
  return productOf(process.url, () => [process])
}

/** Starts the four services and the gateway as processes of their own, on MongoDB. */
export function startSplit(uri: string, setting: Setting): Promise<Product> {
  return startReplicas(uri, setting, 1)
}

/** A process of the product that can be started again in the same place. */
export interface Service {
  readonly url: string
  /** The one that runs now, or ran last. */
  readonly process: () => Process
  /** Once the last one has ended. */
  readonly restart: () => Promise<void>
}

/** A session service with a gateway that calls only this one. */
export interface Side {
  readonly gateway: Service
  readonly session: Service
}

/** Some session services, each with a gateway, on one MongoDB with one service of each other kind. */
export interface Replicas extends Product {
  readonly sides: readonly Side[]
  readonly services: readonly Service[]
}

/** Starts that many session services, each with a gateway of its own, and one service of each other kind. */
export async function startReplicas(
  uri: string,
  { project, environment = {} }: Setting,
  count: number,
): Promise<Replicas> {
  // Tests share a server, so what another test left in the default database would be found, or run, here.
  assert.ok(uri !== mongoUri() || environment.PORTICO_MONGODB_DATABASE !== undefined, 'name a database of its own')
  const shared = {
    ...common(),
    PORTICO_MONGODB_URI: uri,
    PORTICO_INTERNAL_SECRET: randomBytes(24).toString('hex'),
    PORTICO_DIRECTORY: project,
    ...environment,
  }
  const [identity, catalog] = await Promise.all([
    startService('services/identity/main.ts', shared),
    startService('services/catalog/main.ts', shared),
  ])
  const known = { ...shared, PORTICO_IDENTITY_URL: identity.url, PORTICO_CATALOG_URL: catalog.url }
  const inference = await startService('services/inference/main.ts', known)
  const all = { ...known, PORTICO_INFERENCE_URL: inference.url }
  const sides = await Promise.all(Array.from({ length: count }, () => startSide(all)))
  const services = [...sides.flatMap(({ gateway, session }) => [gateway, session]), inference, catalog, identity]
  const product = productOf(sides[0]?.gateway.url ?? '', () => services.map(({ process }) => process()))
  return { ...product, sides, services }
}

async function startSide(all: Readonly<Record<string, string>>): Promise<Side> {
  const session = await startService('services/session/main.ts', all)
  return { session, gateway: await startService('gateway/main.ts', { ...all, PORTICO_SESSION_URL: session.url }) }
}

async function startService(entry: string, environment: Readonly<Record<string, string>>): Promise<Service> {
  const start = (port: string) =>
    startProcess(entry, { ...environment, PORTICO_SERVICE_PORT: port, PORTICO_PORT: port })
  let process = await start('0')
  const { url } = process
  const restart = async (): Promise<void> => {
    process = await start(new URL(url).port)
  }
  return { url, process: () => process, restart }
}

function common(): Record<string, string> {
  return {
    PORTICO_HOST: '127.0.0.1',
    PORTICO_PORT: '0',
    PORTICO_BOOTSTRAP_API_KEY: KEYS.api,
    PORTICO_BOOTSTRAP_MANAGEMENT_KEY: KEYS.management,
  }
}

function productOf(url: string, processes: () => readonly Process[]): Product {
  return {
    url,
    stop: async () => {
      const codes: (number | null)[] = []
      for (const process of processes()) codes.push(await process.stop())
      return codes.find((code) => code !== 0) ?? 0
    },
    kill: async () => void (await Promise.all(processes().map((process) => process.kill()))),
    processes,
    pids: () => processes().map(({ child }) => child.pid ?? 0),
  }
}
