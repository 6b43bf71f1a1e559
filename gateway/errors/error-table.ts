import type { Reason } from '#shared/reasons.ts'

/** An error as a client sees it. */
export interface PublicError {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** Names and values in turn. */
  readonly headers?: readonly string[]
  /** Set for internal errors; the log line with this reference has the cause. */
  readonly ref?: string
}

/** How a reason is shown; `internal`: no request of the family can cause it, so it would be a bug. */
export type ErrorRow = ((reason: Reason) => PublicError) | 'internal'

/** How one API family shows errors; `R` is every reason of the facade and of the services that its operations call. */
export interface ErrorTable<R extends string> {
  /** Reason → public error; one that is unknown here, of a newer service, is an internal error. */
  readonly reasons: Readonly<Record<R, ErrorRow>>
  /** The error for a service that did not respond, or not in time. */
  readonly unavailable: (deadlinePassed: boolean, service: string) => PublicError
  /** The error for everything else, which contains only the reference. */
  readonly internal: (ref: string) => PublicError
}
