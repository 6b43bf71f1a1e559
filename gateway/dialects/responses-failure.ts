import type { Reason } from '#shared/rejection.ts'

/** How a response says that it failed (`contract/gateway-facts.md` 1.8 and 5.2). */
export interface ResponseFailure {
  /** Code of OpenAI's schema: a word. */
  readonly code: string
  readonly message: string
  /** Canonical type of the error. */
  readonly errorType: string
}

/** Says what broke a generation off; whatever has no public reason says nothing. */
export function responseFailure(reason: Reason | undefined): ResponseFailure {
  const errorType = errorTypeOf(reason)
  const code = CODES[errorType] ?? 'server_error'
  return { code, errorType, message: errorType === 'server' ? 'Internal Server Error' : (reason?.message ?? '') }
}

/** Canonical type of a provider's failure. */
export function errorTypeOf(reason: Reason | undefined): string {
  switch (reason?.reason) {
    case 'PROVIDER_RATE_LIMITED':
      return 'rate_limit_exceeded'
    case 'PROVIDER_TIMEOUT':
      return 'timeout'
    case 'PROVIDER_UNAVAILABLE':
      return OVERLOADED.has(reason.metadata.status ?? '') ? 'provider_overloaded' : 'provider_unavailable'
    case 'PROVIDER_REFUSED':
      return REFUSALS[reason.metadata.status ?? ''] ?? 'invalid_request'
    default:
      return 'server'
  }
}

const OVERLOADED: ReadonlySet<string> = new Set(['503', '529'])

/** A provider that refuses Portico's own credentials or account is unavailable to the client, whose key is another. */
const REFUSALS: Readonly<Record<string, string>> = {
  '401': 'provider_unavailable',
  '402': 'provider_unavailable',
  '403': 'permission_denied',
  '404': 'not_found',
  '413': 'payload_too_large',
  '422': 'unprocessable',
}

const CODES: Readonly<Record<string, string>> = {
  rate_limit_exceeded: 'rate_limit_exceeded',
  invalid_request: 'invalid_prompt',
}
