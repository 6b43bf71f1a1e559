import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import type { Clients } from './clients.ts'
import type { Config } from './config.ts'
import type { Lifecycle } from './http/lifecycle.ts'
import type { Readiness } from './readiness.ts'

/** What every route is made from. */
export interface Facade {
  readonly config: Config
  readonly clients: Clients
  readonly clock: Clock
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly readiness: Readiness
  /** URLs that reach this server, in order of preference. */
  readonly urls: () => readonly string[]
}
