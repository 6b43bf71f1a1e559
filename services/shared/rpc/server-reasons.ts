import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'

/**
 * Why a service that stops ends calls that would continue; for its table of reasons. The same call succeeds elsewhere,
 * or later.
 */
export const closingReasons = {
  SERVICE_CLOSING: { code: Code.Unavailable, message: 'The service is closing' },
} as const satisfies ReasonTable

/** Why a server lets a call reach no service. */
export const gateReasons = {
  SECRET_REFUSED: { code: Code.Unauthenticated, message: 'The internal secret is missing or wrong' },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    server: keyof typeof closingReasons | keyof typeof gateReasons
  }
}

/** What is thrown into calls of a server that stops. */
export function serviceClosing(): Rejection {
  return new Rejection('SERVICE_CLOSING')
}
