import { Code, ConnectError } from '@connectrpc/connect'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { PROVIDER_STATUSES } from './errors/provider.ts'
import { publicError } from './errors/public-error.ts'
import type { Operation } from './operation.ts'

/** Reasons for which the HTTP server refuses any request. */
const OF_HTTP: readonly AnyReason[] = [
  'REQUEST_MALFORMED',
  'HOST_INVALID',
  'REQUEST_TIMEOUT',
  'EXPECTATION_FAILED',
  'HEADERS_TOO_LARGE',
  'NOT_READY',
]
const OF_CALLERS: readonly AnyReason[] = [
  'AUTH_MISSING',
  'CREDENTIAL_REFUSED',
  'WRONG_KEYS',
  'KEY_KIND_FORBIDDEN',
  'HEADER_INVALID',
]
const OF_MODES: readonly AnyReason[] = ['HOST_FORBIDDEN', 'ORIGIN_FORBIDDEN']
const OF_BODIES: readonly AnyReason[] = [
  'BODY_MISSING',
  'BODY_MALFORMED',
  'BODY_INVALID',
  'BODY_TOO_LARGE',
  'TOO_MANY_LARGE_BODIES',
  'CONTENT_TYPE_UNSUPPORTED',
  'CONTENT_ENCODING_UNSUPPORTED',
]
/** Any service may be unavailable. */
const OF_SERVICES: readonly AnyReason[] = ['STORE_UNAVAILABLE', 'SERVICE_CLOSING']

/** Whether services are called, if only to authenticate. */
function callsServices({ path }: Operation): boolean {
  return path.startsWith('/api/')
}

/**
 * Every reason that an operation may be refused with: its own, and those that follow from its parameters, body and
 * credentials.
 */
export function errorsOf(operation: Operation): readonly AnyReason[] {
  const { params, query, headers, body, counted, credentials, family, errors } = operation
  const caller = credentials.length > 0
  return [
    ...new Set<AnyReason>([
      ...OF_HTTP,
      ...(counted ? (['TOO_MANY_EXCHANGES'] as const) : []),
      ...(caller ? OF_CALLERS : []),
      ...(callsServices(operation) ? OF_SERVICES : []),
      ...(caller && family === 'instance' ? OF_MODES : []),
      ...(params === undefined ? [] : (['PATH_INVALID'] as const)),
      ...(query === undefined ? [] : (['QUERY_INVALID'] as const)),
      ...(headers === undefined ? [] : (['HEADER_INVALID'] as const)),
      ...(body === undefined ? [] : OF_BODIES),
      ...errors,
    ]),
  ]
}

/** Statuses that a reason is shown with; a provider's failure may have several. */
export function statusesOf({ family }: Operation, reason: AnyReason): readonly number[] {
  const samples = reason.startsWith('PROVIDER_') ? ['', ...PROVIDER_STATUSES] : ['']
  return [...new Set(samples.map((status) => publicError(family, new Rejection(reason, { status })).status))]
}

/** Statuses of an operation's answer when a service that it calls does not answer at all, or not in time. */
export function outageStatusesOf(operation: Operation): readonly number[] {
  if (!callsServices(operation)) return []
  const codes = [Code.Unavailable, Code.DeadlineExceeded]
  return [...new Set(codes.map((code) => publicError(operation.family, new ConnectError('Outage', code)).status))]
}
