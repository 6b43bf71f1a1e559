import type { Reason } from '#shared/reasons.ts'
import type { ReasonsOf } from '#shared/rejection.ts'
import type { ErrorTable, PublicError } from './error-table.ts'
import { typeOfStatus } from './error-type.ts'
import { gatewayErrors } from './gateway.ts'

type Rows = typeof gatewayErrors.reasons

/** What Anthropic calls the canonical types; the others are invalid requests. */
const TYPES: Readonly<Record<string, MessagesErrorType>> = {
  authentication: 'authentication_error',
  permission_denied: 'permission_error',
  payment_required: 'billing_error',
  not_found: 'not_found_error',
  image_not_found: 'not_found_error',
  rate_limit_exceeded: 'rate_limit_error',
  provider_overloaded: 'overloaded_error',
  timeout: 'timeout_error',
  provider_unavailable: 'api_error',
  server: 'api_error',
  unmapped: 'api_error',
}

export const MESSAGES_ERROR_TYPES = [
  ...['invalid_request_error', 'authentication_error', 'billing_error', 'permission_error', 'not_found_error'],
  ...['rate_limit_error', 'timeout_error', 'overloaded_error', 'api_error'],
] as const
type MessagesErrorType = (typeof MESSAGES_ERROR_TYPES)[number]

/** Errors of `/api/v1/messages`: those of `/api/v1`, in Anthropic's envelope. */
export const messagesErrors = {
  reasons: Object.fromEntries(Object.entries(gatewayErrors.reasons).map(toEnvelope)) as {
    readonly [R in keyof Rows]: Rows[R] extends 'internal' ? 'internal' : (reason: Reason) => PublicError
  },
  unavailable: (deadlinePassed, service) => inEnvelope(gatewayErrors.unavailable(deadlinePassed, service)),
  internal: () => inEnvelope(gatewayErrors.internal()),
} as const satisfies ErrorTable<ReasonsOf['gateway' | 'identity' | 'inference' | 'server']>

function toEnvelope([reason, row]: [string, Rows[keyof Rows]]) {
  return [reason, row === 'internal' ? row : (rejection: Reason) => inEnvelope(row(rejection))] as const
}

function inEnvelope({ body, ...rest }: PublicError): PublicError {
  const { message, param, metadata } = body.error as {
    readonly message: string
    readonly param?: string
    readonly metadata?: { readonly error_type?: string }
  }
  const { status } = rest
  const canonical = metadata?.error_type ?? typeOfStatus(status)
  const type = TYPES[canonical] ?? 'invalid_request_error'
  const error = { type, message, error_type: canonical, param }
  return { ...rest, body: { type: 'error', error, request_id: null } }
}
