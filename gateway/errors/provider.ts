import type { Reason } from '#shared/reasons.ts'

/** What a client of the gateway learns of a provider's failure. */
export interface ProviderFailure {
  /** HTTP status, as long as nothing was sent. */
  readonly status: number
  /** Canonical type of the error. */
  readonly errorType: string
}

const RATE_LIMITED: ProviderFailure = { status: 429, errorType: 'rate_limit_exceeded' }
const TIMED_OUT: ProviderFailure = { status: 408, errorType: 'timeout' }
const OVERLOADED: ProviderFailure = { status: 503, errorType: 'provider_overloaded' }
const UNAVAILABLE: ProviderFailure = { status: 502, errorType: 'provider_unavailable' }
const INVALID: ProviderFailure = { status: 400, errorType: 'invalid_request' }

/**
 * If a provider refuses Portico's own key or account, it is unavailable: the client's key is a different one, and
 * valid.
 */
const REFUSALS: Readonly<Record<string, ProviderFailure>> = {
  '401': UNAVAILABLE,
  '402': UNAVAILABLE,
  '403': { status: 403, errorType: 'permission_denied' },
  '404': { status: 404, errorType: 'not_found' },
  '412': { status: 412, errorType: 'precondition_failed' },
  '413': { status: 413, errorType: 'payload_too_large' },
  '422': { status: 422, errorType: 'unprocessable' },
}

/** Provider statuses that have a meaning of their own for the client. */
export const PROVIDER_STATUSES: readonly string[] = [...Object.keys(REFUSALS), '503', '529']

/** Says what a reason of the inference service means to the client; undefined: it is not about a provider. */
export function providerFailure({ reason, metadata }: Reason): ProviderFailure | undefined {
  const { status = '', error_type: errorType } = metadata
  switch (reason) {
    case 'PROVIDER_RATE_LIMITED':
      return RATE_LIMITED
    case 'PROVIDER_TIMEOUT':
      return TIMED_OUT
    case 'PROVIDER_UNAVAILABLE':
      return status === '503' || status === '529' ? OVERLOADED : UNAVAILABLE
    case 'PROVIDER_REFUSED':
      if (errorType === undefined) return REFUSALS[status] ?? INVALID
      // The provider's own error code is more precise than its status.
      return { status: errorType === 'image_not_found' ? 404 : 400, errorType }
    default:
      return undefined
  }
}
