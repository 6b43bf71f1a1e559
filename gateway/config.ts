import { homedir, tmpdir } from 'node:os'
import { isLoopbackHost } from './origin.ts'

/** How the instance API authenticates. */
export type Auth =
  | { readonly mode: 'none' }
  | { readonly mode: 'basic'; readonly username: string; readonly password: string }
  | { readonly mode: 'bearer' }

/** Settings of the facade. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly auth: Auth
  /** Origins whose pages may call, beside this server's own. */
  readonly corsOrigins: ReadonlySet<string>
  /** Largest JSON body, in bytes. */
  readonly bodyLimit: number
  /** Largest body of a prompt, whose files lie in it, in bytes. */
  readonly promptLimit: number
  /** Milliseconds between two heartbeats of an event stream. */
  readonly heartbeatMs: number
  /** Milliseconds that requests get to end when the server stops. */
  readonly drainMs: number
  readonly paths: { readonly home: string; readonly tmp: string }
}

/** The environment that settings are read from. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings. Every problem is reported at once, in one error. */
export function readConfig(env: Environment): Config {
  const problems: string[] = []
  const host = env.PORTICO_HOST ?? '127.0.0.1'
  const integer = (name: string, fallback: number, least: number, most: number): number => {
    const text = env[name]
    if (text === undefined || text === '') return fallback
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    problems.push(`${name} must be an integer from ${least} to ${most}`)
    return fallback
  }
  const config: Config = {
    host,
    port: integer('PORTICO_PORT', 4096, 0, 65_535),
    auth: readAuth(env, host, problems),
    corsOrigins: readOrigins(env, problems),
    bodyLimit: integer('PORTICO_BODY_LIMIT_BYTES', 1_048_576, 1_024, 1_073_741_824),
    promptLimit: integer('PORTICO_PROMPT_LIMIT_BYTES', 33_554_432, 1_024, 1_073_741_824),
    heartbeatMs: integer('PORTICO_HEARTBEAT_MS', 15_000, 10, 3_600_000),
    drainMs: integer('PORTICO_DRAIN_MS', 4_000, 0, 3_600_000),
    paths: { home: homedir(), tmp: tmpdir() },
  }
  if (problems.length > 0) throw new Error(`The configuration is not valid:\n- ${problems.join('\n- ')}`)
  return Object.freeze(config)
}

function readAuth(env: Environment, host: string, problems: string[]): Auth {
  const mode = env.PORTICO_AUTH ?? 'none'
  const loopback = isLoopbackHost(host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)
  switch (mode) {
    case 'none':
      if (!loopback) {
        problems.push(`PORTICO_AUTH=none is only for a loopback address, not ${host}: set it to basic or bearer`)
      }
      return { mode }
    case 'basic': {
      const password = env.PORTICO_BASIC_PASSWORD ?? ''
      const username = env.PORTICO_BASIC_USERNAME ?? 'portico'
      if (password === '') problems.push('PORTICO_AUTH=basic needs PORTICO_BASIC_PASSWORD')
      if (username.includes(':')) problems.push('PORTICO_BASIC_USERNAME must not contain a colon')
      return { mode, username, password }
    }
    case 'bearer':
      return { mode }
    default:
      problems.push('PORTICO_AUTH must be none, basic or bearer')
      return { mode: 'bearer' }
  }
}

function readOrigins(env: Environment, problems: string[]): ReadonlySet<string> {
  const origins = (env.PORTICO_CORS_ORIGINS ?? '').split(',').map((origin) => origin.trim())
  const given = origins.filter((origin) => origin !== '')
  for (const origin of given) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      problems.push(`PORTICO_CORS_ORIGINS: ${origin} is not an origin such as https://example.com`)
    }
  }
  return new Set(given)
}
