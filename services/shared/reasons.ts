import { Code, ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema, RetryInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import { Rejection } from '#shared/rejection.ts'

/** A row of a table of reasons. `{key}` in the message is replaced from the metadata. */
export interface ReasonRow {
  readonly code: Code
  readonly message: string
  /** Sent as a google.rpc.RetryInfo: when it is worth trying again. */
  readonly retryAfterSeconds?: number
}

/** What a service may reject with: reason → gRPC code and message for people. */
export type ReasonTable = Readonly<Record<string, ReasonRow>>

/** A reason as a caller sees it. */
export interface Reason {
  readonly domain: string
  readonly reason: string
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
  /** When it is worth trying again, in seconds, if the service knows. */
  readonly retryAfterSeconds?: number
}

/**
 * Converts anything that a handler threw into the error that its caller gets. Anything unplanned becomes an opaque
 * INTERNAL.
 */
export function toConnectError(error: unknown, domain: string, reasons: ReasonTable): ConnectError {
  if (error instanceof ConnectError) return error
  if (error instanceof Rejection) {
    const passed = passedOn(error)
    if (passed !== undefined) return passed
    const row = reasons[error.reason]
    if (row !== undefined) {
      const message = row.message.replace(/\{(\w+)\}/g, (_, key: string) => error.metadata[key] ?? '')
      const info = { desc: ErrorInfoSchema, value: { reason: error.reason, domain, metadata: error.metadata } }
      return new ConnectError(message, row.code, undefined, [info, ...retryInfo(row)], error)
    }
  }
  if (error instanceof Error && error.name === 'AbortError') {
    return new ConnectError('The call was canceled', Code.Canceled, undefined, undefined, error)
  }
  return new ConnectError('Internal error', Code.Internal, undefined, undefined, error)
}

/** A planned rejection by a peer is passed on as it came. */
function passedOn(error: Rejection): ConnectError | undefined {
  const { cause } = error
  const reason = reasonOf(cause)
  if (!(cause instanceof ConnectError) || reason?.reason !== error.reason) return undefined
  const { domain, metadata, message } = reason
  const info = { desc: ErrorInfoSchema, value: { reason: error.reason, domain, metadata } }
  return new ConnectError(message, cause.code, undefined, [info, ...retryInfo(reason)], error)
}

function retryInfo({ retryAfterSeconds }: Pick<ReasonRow, 'retryAfterSeconds'>) {
  if (retryAfterSeconds === undefined) return []
  return [{ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(retryAfterSeconds) } } }]
}

/** The reason in an error of a call; undefined if it has none. */
export function reasonOf(error: unknown): Reason | undefined {
  if (!(error instanceof ConnectError)) return undefined
  const info = error.findDetails(ErrorInfoSchema)[0]
  if (info === undefined) return undefined
  const { domain, reason, metadata } = info
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  const retry = delay === undefined ? {} : { retryAfterSeconds: Number(delay.seconds) + Math.ceil(delay.nanos / 1e9) }
  return { domain, reason, metadata, message: error.rawMessage, ...retry }
}
