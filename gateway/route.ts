import type { Request, Response } from 'express'
import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import type { Clients } from './clients.ts'
import type { Config } from './config.ts'
import type { Lifecycle } from './lifecycle.ts'

/** What every route is made from. */
export interface Facade {
  readonly config: Config
  readonly clients: Clients
  readonly clock: Clock
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  /** URLs that reach this server, in order of preference. */
  readonly urls: () => readonly string[]
}

/** One public operation. */
export interface Route {
  /** Operation id of the specification (`session.get`). */
  readonly operation: string
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Express path. */
  readonly path: string
  /** Answers the request, or throws; whatever is thrown becomes the public error of the API family. */
  readonly handle: (request: Request, response: Response) => Promise<void> | void
}

/** A parameter of a route's path; Express has decoded it. */
export function pathParameter(request: Request, name: string): string {
  const value = request.params[name]
  return typeof value === 'string' ? value : ''
}
