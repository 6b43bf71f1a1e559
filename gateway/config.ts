import { homedir, tmpdir } from 'node:os'
import { z } from 'zod'
import { readEnvironment } from '#shared/config/config.ts'
import {
  booleanVariable,
  type Environment,
  integerVariable,
  mustBe,
  portVariable,
  urlVariable,
} from '#shared/config/variables.ts'
import packageJson from '../package.json' with { type: 'json' }
import { type ResponsesDialect, responsesDialects } from './generation/responses-dialect.ts'
import { isNetwork } from './http/client-network.ts'
import { isLoopbackHost } from './http/request-checks.ts'

/** How the instance API authenticates. */
export type Auth =
  | { readonly mode: 'none' }
  | { readonly mode: 'basic'; readonly username: string; readonly password: string }
  | { readonly mode: 'bearer' }

export interface Config {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly auth: Auth
  /** Origins whose pages may call, beside this server's own and, in the mode `none`, those of this machine. */
  readonly corsOrigins: readonly string[]
  /** Origin under which clients know this server; undefined: where it listens. */
  readonly publicOrigin: string | undefined
  /** Addresses and networks of proxies whose `X-Forwarded-For` says who a client is. */
  readonly trustedProxies: readonly string[]
  /** Most token exchanges of one client network within any minute. */
  readonly exchangesPerMinute: number
  /** Largest JSON body, in bytes. */
  readonly bodyLimit: number
  /** Largest body of a prompt, whose files lie in it, in bytes. */
  readonly promptLimit: number
  /** Largest body of an import, in bytes. */
  readonly importLimit: number
  /** Milliseconds between two heartbeats of an event stream. */
  readonly heartbeatMs: number
  /** Milliseconds after which who waits for a model receives a sign of life, and between two of them. */
  readonly keepAliveMs: number
  /** Which events a stream of responses has where nothing of a request says it. */
  readonly responsesDialect: ResponsesDialect
  /**
   * Whether assistant history in structured form needs `id` and `status`, as the specification says; not in OpenAI's
   * dialect.
   */
  readonly historyIds: boolean
  /** Of the product. */
  readonly version: string
  /** What `GET /api/info` says of the machine. */
  readonly paths: { readonly home: string; readonly tmp: string }
}

const GIB = 1_073_741_824
/** An import is parsed whole, and goes to the service in one message. */
const MOST_IMPORTED = 67_108_864

const schema = z
  .object({
    PORTICO_HOST: z.string().max(255).default('127.0.0.1'),
    PORTICO_PORT: portVariable().default(4096),
    PORTICO_AUTH: z.enum(['none', 'basic', 'bearer'], mustBe('none, basic or bearer')).default('none'),
    PORTICO_BASIC_USERNAME: z
      .string()
      .regex(/^[^:]*$/, 'must not contain a colon')
      .default('portico'),
    PORTICO_BASIC_PASSWORD: z.string().optional(),
    PORTICO_CORS_ORIGINS: z.string().default('').transform(splitList).pipe(z.array(originSchema())),
    PORTICO_PUBLIC_URL: urlVariable().optional(),
    PORTICO_TRUSTED_PROXIES: z.string().default('').transform(splitList).pipe(z.array(networkSchema())),
    PORTICO_EXCHANGES_PER_MINUTE: integerVariable({ min: 1, max: 1_000_000 }).default(600),
    PORTICO_BODY_LIMIT_BYTES: integerVariable({ min: 1_024, max: GIB }).default(1_048_576),
    PORTICO_PROMPT_LIMIT_BYTES: integerVariable({ min: 1_024, max: GIB }).default(33_554_432),
    PORTICO_IMPORT_LIMIT_BYTES: integerVariable({ min: 1_024, max: MOST_IMPORTED }).default(MOST_IMPORTED),
    PORTICO_HEARTBEAT_MS: integerVariable({ min: 10, max: 3_600_000 }).default(15_000),
    PORTICO_KEEP_ALIVE_MS: integerVariable({ min: 10, max: 3_600_000 }).default(10_000),
    PORTICO_RESPONSES_DIALECT: z.enum(responsesDialects.names, mustBe('both, openai or specification')).default('both'),
    PORTICO_HISTORY_IDS: booleanVariable().default(true),
  })
  .superRefine(({ PORTICO_AUTH: mode, PORTICO_HOST: host, PORTICO_BASIC_PASSWORD: password }, context) => {
    const issue = (variable: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [variable], message })
    }
    if (mode === 'none' && !isLoopbackHost(host.includes(':') ? `[${host}]` : host)) {
      issue('PORTICO_AUTH', `none is only for a loopback address, not ${host}: set basic or bearer`)
    }
    if (mode === 'basic' && password === undefined)
      issue('PORTICO_BASIC_PASSWORD', 'must be set for PORTICO_AUTH=basic')
  })
  .transform(
    (env): Config => ({
      host: env.PORTICO_HOST,
      port: env.PORTICO_PORT,
      auth:
        env.PORTICO_AUTH === 'basic'
          ? { mode: 'basic', username: env.PORTICO_BASIC_USERNAME, password: env.PORTICO_BASIC_PASSWORD ?? '' }
          : { mode: env.PORTICO_AUTH },
      corsOrigins: env.PORTICO_CORS_ORIGINS,
      publicOrigin: env.PORTICO_PUBLIC_URL && new URL(env.PORTICO_PUBLIC_URL).origin,
      trustedProxies: env.PORTICO_TRUSTED_PROXIES,
      exchangesPerMinute: env.PORTICO_EXCHANGES_PER_MINUTE,
      bodyLimit: env.PORTICO_BODY_LIMIT_BYTES,
      promptLimit: env.PORTICO_PROMPT_LIMIT_BYTES,
      importLimit: env.PORTICO_IMPORT_LIMIT_BYTES,
      heartbeatMs: env.PORTICO_HEARTBEAT_MS,
      keepAliveMs: env.PORTICO_KEEP_ALIVE_MS,
      responsesDialect: env.PORTICO_RESPONSES_DIALECT,
      historyIds: env.PORTICO_HISTORY_IDS,
      version: packageJson.version,
      paths: { home: homedir(), tmp: tmpdir() },
    }),
  )

/**
 * Reads the facade's settings. Serving without credentials on an address that others can reach, and `basic` without a
 * password, are refused.
 */
export function readConfig(env: Environment): Config {
  return readEnvironment(schema, env, ['PORTICO_BASIC_PASSWORD'])
}

function splitList(list: string): string[] {
  return list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function networkSchema() {
  return z.string().refine(isNetwork, mustBe('addresses and networks such as 10.0.0.0/8'))
}

function originSchema() {
  return z.string().refine((text) => URL.parse(text)?.origin === text, mustBe('origins such as https://example.com'))
}
