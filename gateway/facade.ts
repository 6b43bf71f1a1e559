import type { Request, Response } from 'express'
import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
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

/** The session id of a route's path. Rejects with PATH_INVALID. */
export function sessionParameter(request: Request): string {
  return idParameter(request, 'sessionID', /^ses[^\p{Cc}]{0,125}$/u, 'Invalid session ID')
}

/** The message id of a route's path. Rejects with PATH_INVALID. */
export function messageParameter(request: Request): string {
  return idParameter(request, 'messageID', /^msg_[^\p{Cc}]{0,124}$/u, 'Invalid message ID')
}

/** A parameter of a route's path, 1 to 256 characters, none of them a control. Rejects with PATH_INVALID. */
export function nameParameter(request: Request, field: string): string {
  return idParameter(request, field, /^[^\p{Cc}]{1,256}$/u, `Invalid ${field}`)
}

function idParameter(request: Request, field: string, form: RegExp, problem: string): string {
  const value = request.params[field]
  if (typeof value !== 'string' || !form.test(value)) throw new Rejection('PATH_INVALID', { field, problem })
  return value
}
