import { z } from 'zod'
import { readEnvironment } from '#shared/config/config.ts'
import { storeSecrets } from '#shared/config/store-config.ts'
import {
  booleanVariable,
  type Environment,
  integerVariable,
  peerUrlVariable,
  peerVariable,
  portVariable,
  urlVariable,
} from '#shared/config/variables.ts'
import type { LeaveTimes } from '#shared/process/leave.ts'
import { type LogLevel, logVariables } from '#shared/telemetry/logging.ts'
import type { TelemetryConfig } from '#shared/telemetry/telemetry.ts'

/** The services, with the default port of each in a process of its own. */
const PORTS = { session: 4101, catalog: 4102, inference: 4103, identity: 4104 } as const

export type ServiceName = keyof typeof PORTS

export const SERVICES = Object.keys(PORTS) as ServiceName[]

/**
 * The services with a store. A SQLite file belongs to one process, so a service in a process of its own needs MongoDB.
 */
const WITH_STORE: readonly ServiceName[] = ['session', 'inference', 'identity']

export interface SingleProcessConfig extends LeaveTimes {
  readonly logLevel: LogLevel
  readonly telemetry: TelemetryConfig
  /** How long the event loop may be blocked, in milliseconds; 0: for ever. */
  readonly watchdogMs: number
}

/** What a process that serves one service or calls others needs, besides the service's own settings. */
export interface ProcessConfig<P extends ServiceName = never> extends SingleProcessConfig {
  /** Secret shared by all processes of an installation; at least 16 characters. */
  readonly secret: string
  readonly peers: { readonly [K in P]: string }
}

/** What a process that serves one service needs in addition. */
export interface ServiceProcessConfig<P extends ServiceName = never> extends ProcessConfig<P> {
  readonly host: string
  readonly port: number
  /** Whether grpc.reflection.v1 is served. */
  readonly reflection: boolean
}

const singleVariables = {
  ...logVariables,
  OTEL_EXPORTER_OTLP_ENDPOINT: urlVariable().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: urlVariable().optional(),
  PORTICO_WATCHDOG_SECONDS: integerVariable({ min: 0, max: 3_600 }).default(30),
  PORTICO_UNREADY_SECONDS: integerVariable({ min: 0, max: 3_600 }).default(0),
  PORTICO_DRAIN_SECONDS: integerVariable({ min: 0, max: 3_600 }).default(4),
}

const commonVariables = {
  ...singleVariables,
  PORTICO_UNREADY_SECONDS: integerVariable({ min: 0, max: 3_600 }).default(5),
  PORTICO_INTERNAL_SECRET: z.string().min(16, 'must have at least 16 characters'),
}

const serverVariables = {
  PORTICO_SERVICE_HOST: z.string().default('127.0.0.1'),
  PORTICO_SERVICE_PORT: portVariable().optional(),
  PORTICO_GRPC_REFLECTION: booleanVariable().default(false),
}

const commonSecrets = ['PORTICO_INTERNAL_SECRET']

const sharedStoreVariables = {
  PORTICO_MONGODB_URI: z
    .string()
    .default('')
    .refine((uri) => uri !== '', 'must be set for a service in a process of its own'),
}

/** Reads the settings of the single process. */
export function readSingleProcessConfig(env: Environment): SingleProcessConfig {
  return singleOf(readEnvironment(z.object(singleVariables), env))
}

/** The address for traces is used unchanged; `/v1/traces` is appended to the general one. */
function singleOf(values: z.output<z.ZodObject<typeof singleVariables>>): SingleProcessConfig {
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT
  const tracesUrl = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base === undefined ? undefined : `${base}/v1/traces`)
  return {
    logLevel: values.PORTICO_LOG_LEVEL,
    telemetry: { tracesUrl },
    watchdogMs: values.PORTICO_WATCHDOG_SECONDS * 1_000,
    unreadyMs: values.PORTICO_UNREADY_SECONDS * 1_000,
    drainMs: values.PORTICO_DRAIN_SECONDS * 1_000,
  }
}

/** Reads the settings of the gateway's process, which calls `peers` and serves no RPCs. */
export function readProcessConfig<P extends ServiceName>(env: Environment, peers: readonly P[]): ProcessConfig<P> {
  const schema = z.object({ ...commonVariables, ...peerVariables(peers) })
  return commonOf(readEnvironment(schema, env, commonSecrets), peers)
}

/** Reads the settings of the process of one service, which calls `peers`. */
export function readServiceProcessConfig<P extends ServiceName = never>(
  env: Environment,
  service: ServiceName,
  peers: readonly P[] = [],
): ServiceProcessConfig<P> {
  const own = { ...commonVariables, ...serverVariables, ...peerVariables(peers) }
  const stored = WITH_STORE.includes(service)
  const values = stored
    ? readEnvironment(z.object({ ...own, ...sharedStoreVariables }), env, [...commonSecrets, ...storeSecrets])
    : readEnvironment(z.object(own), env, commonSecrets)
  return {
    ...commonOf(values, peers),
    host: values.PORTICO_SERVICE_HOST,
    port: values.PORTICO_SERVICE_PORT ?? PORTS[service],
    reflection: values.PORTICO_GRPC_REFLECTION,
  }
}

function commonOf<P extends ServiceName>(
  values: z.output<z.ZodObject<typeof commonVariables>>,
  peers: readonly P[],
): ProcessConfig<P> {
  const urls: Readonly<Record<string, unknown>> = values
  return {
    ...singleOf(values),
    secret: values.PORTICO_INTERNAL_SECRET,
    peers: Object.fromEntries(peers.map((peer) => [peer, urls[peerVariable(peer)]])) as { [K in P]: string },
  }
}

function peerVariables(peers: readonly ServiceName[]) {
  const entries = peers.map((peer) => [
    peerVariable(peer),
    peerUrlVariable().default(`http://127.0.0.1:${PORTS[peer]}`),
  ])
  return Object.fromEntries(entries) as Record<string, z.ZodType<string>>
}
