import { Code } from '@connectrpc/connect'
import { type ReasonTable, Rejection } from '#shared/rejection.ts'

/** Why a service that stops ends what would go on; for its reason table. The same call succeeds elsewhere, or later. */
export const closingReasons = {
  SERVICE_CLOSING: { code: Code.Unavailable, message: 'The service is closing' },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    server: keyof typeof closingReasons
  }
}

/** What is thrown into calls of a server that stops. */
export function serviceClosing(): Rejection {
  return new Rejection('SERVICE_CLOSING')
}
