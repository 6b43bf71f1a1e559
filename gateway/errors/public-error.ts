import { randomBytes } from 'node:crypto'
import { Code, ConnectError } from '@connectrpc/connect'
import { type Reason, reasonOf } from '#shared/reasons.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import type { Family } from '../family.ts'
import { calledService } from './called-service.ts'
import type { ErrorRow, ErrorTable, PublicError } from './error-table.ts'
import { gatewayErrors } from './gateway.ts'
import { instanceErrors } from './instance.ts'
import { messagesErrors } from './messages-dialect.ts'
import { oauthErrors } from './oauth.ts'

const tables = { instance: instanceErrors, gateway: gatewayErrors, messages: messagesErrors, oauth: oauthErrors }
type Tables = typeof tables
const TABLES: Readonly<Record<Family, ErrorTable<never>>> = tables

/** The reasons that a family shows to clients, as opposed to internal errors. */
export type ShownReason<F extends Family> = {
  [R in keyof Tables[F]['reasons']]: Tables[F]['reasons'][R] extends 'internal' ? never : R
}[keyof Tables[F]['reasons']] &
  AnyReason

/** The client's name for a field that a service names. */
type FieldName = (field: string) => string

/**
 * Turns whatever was thrown while a request was served into what its client sees. A 503 says when to come back: as the
 * service said, else after a second.
 */
export function publicError(family: Family, error: unknown, nameOf: FieldName = itself): PublicError {
  const answer = shownError(family, error, nameOf)
  if (answer.status !== 503) return answer
  return { ...answer, headers: withRetryAfter(answer.headers, reasonOf(error)?.retryAfterSeconds) }
}

/** Headers, names and values in turn, that say when to come back, in whole seconds, unless they do already. */
export function withRetryAfter(headers: readonly string[] = [], seconds = 1): readonly string[] {
  return headers.includes('retry-after') ? headers : [...headers, 'retry-after', String(seconds)]
}

const itself: FieldName = (field) => field

function shownError(family: Family, error: unknown, nameOf: FieldName): PublicError {
  const table = TABLES[family]
  const reason = reasonOfAny(error, nameOf)
  if (reason !== undefined) {
    const rows: Readonly<Record<string, ErrorRow>> = table.reasons
    const row = Object.hasOwn(rows, reason.reason) ? rows[reason.reason] : undefined
    if (typeof row === 'function') return row(reason)
  } else if (error instanceof ConnectError) {
    const service = calledService(error) ?? 'gateway'
    if (error.code === Code.Unavailable) return table.unavailable(false, service)
    if (error.code === Code.DeadlineExceeded) return table.unavailable(true, service)
  }
  const ref = `err_${randomBytes(4).toString('hex')}`
  return { ...table.internal(ref), ref }
}

function reasonOfAny(error: unknown, nameOf: FieldName): Reason | undefined {
  if (error instanceof Rejection) {
    return { domain: 'gateway', reason: error.reason, metadata: error.metadata, message: error.reason }
  }
  // Express throws this when a path is not percent-encoded UTF-8.
  if (error instanceof URIError) {
    return { domain: 'gateway', reason: 'PATH_INVALID', metadata: {}, message: 'The path is not percent-encoded UTF-8' }
  }
  const reason = withPublicField(reasonOf(error), nameOf)
  // Reasons that every server may reject with do not name the service.
  return reason?.domain === 'server' ? { ...reason, domain: calledService(error) ?? 'gateway' } : reason
}

/** Rejections of the gateway itself already have the client's names. */
function withPublicField(reason: Reason | undefined, nameOf: FieldName): Reason | undefined {
  if (reason === undefined) return undefined
  const { field, fields } = reason.metadata
  if (field === undefined && fields === undefined) return reason
  const names = {
    ...(field === undefined ? {} : { field: nameOf(field) }),
    ...(fields === undefined ? {} : { fields: fields.split(', ').map(nameOf).join(', ') }),
  }
  return { ...reason, metadata: { ...reason.metadata, ...names } }
}
