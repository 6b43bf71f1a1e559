import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { CONTEXT_OVERFLOW } from '../domain/generation/step-errors.ts'
import { structuredError } from '../domain/structured-error.ts'

/** How a call of a provider failed. */
export interface Failure {
  readonly reason: string | undefined
  readonly retryAfter: string | undefined
  readonly error: StructuredError
  readonly cause: unknown
}

/** An answer that ended before its end. */
export const CUT = new Rejection('PROVIDER_UNAVAILABLE', { message: 'The answer was cut off' })

const TYPES: Readonly<Record<string, string>> = {
  PROVIDER_REFUSED: 'provider.refused',
  PROVIDER_RATE_LIMITED: 'provider.rate_limited',
  PROVIDER_UNAVAILABLE: 'provider.unavailable',
  PROVIDER_TIMEOUT: 'provider.timeout',
  MODEL_NOT_FOUND: 'model.not_found',
  MODEL_FORBIDDEN: 'model.forbidden',
  CREDENTIAL_REFUSED: 'credential.refused',
  REQUEST_INVALID: 'provider.request_invalid',
  CREDIT_INSUFFICIENT: 'credit.insufficient',
  PRICE_UNKNOWN: 'credit.insufficient',
  RATE_LIMITED: 'credential.rate_limited',
  PEER_UNAVAILABLE: 'service.unavailable',
  STORE_UNAVAILABLE: 'service.unavailable',
  SERVICE_CLOSING: 'service.unavailable',
  SECRET_REFUSED: 'service.unavailable',
}

const MESSAGES: Readonly<Record<string, string>> = {
  'provider.refused': 'The provider refused the request',
  'provider.rate_limited': 'The provider is rate limiting requests',
  'provider.unavailable': 'The provider is unavailable',
  'provider.timeout': 'The provider did not answer in time',
  'model.not_found': 'No such model is configured',
  'model.forbidden': 'The API key may not use the model',
  'credential.refused': 'The API key is no longer valid',
  'credit.insufficient': 'The spending limit of the API key is too low for this step',
  'credential.rate_limited': 'The rate limit of the API key was exceeded',
  'provider.request_invalid': 'The conversation cannot be sent to the provider',
  'service.unavailable': 'The inference service is unavailable',
  'context.overflow': 'The conversation is too long for the model',
}

/** What is known of a failure: of a planned one what users see of it, of others nothing. */
export function toFailure(cause: unknown): Failure {
  if (!(cause instanceof Rejection)) {
    const error = structuredError('provider.internal', 'The generation failed')
    return { reason: undefined, retryAfter: undefined, error, cause }
  }
  const { reason, metadata } = cause
  const type = metadata.overflow === 'true' ? CONTEXT_OVERFLOW : (TYPES[reason] ?? 'provider.internal')
  const details = [metadata.provider, metadata.message ?? metadata.problem ?? metadata.model].filter(Boolean).join(': ')
  const message = [MESSAGES[type] ?? 'The generation failed', details].filter(Boolean).join(': ')
  const status = Number(metadata.status ?? 0)
  return { reason, retryAfter: metadata.retry_after, cause, error: structuredError(type, message, status || undefined) }
}
