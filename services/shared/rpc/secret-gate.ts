import { createHash, timingSafeEqual } from 'node:crypto'
import type { HandlerContext } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { toConnectError } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { callContextKey } from '#shared/rpc/call-context.ts'
import { contextOfHeaders, SECRET_HEADER } from '#shared/rpc/call-metadata.ts'
import { gateReasons } from '#shared/rpc/server-reasons.ts'
import { Complaint } from '#shared/telemetry/complaint.ts'

/**
 * A gate before every call, which runs before the body is read. A call without the secret is rejected with
 * SECRET_REFUSED; with it, the principal and the request id in its metadata are trusted. The comparison takes the same
 * time for every wrong secret.
 */
export function secretGate(secret: string, logger: Logger): (context: HandlerContext) => void {
  const refused = new Complaint(logger, 'Calls with another internal secret are refused; see PORTICO_INTERNAL_SECRET')
  const expected = sha256(secret)
  return (context) => {
    if (!timingSafeEqual(sha256(context.requestHeader.get(SECRET_HEADER) ?? ''), expected)) {
      refused.happened()
      throw toConnectError(new Rejection('SECRET_REFUSED'), 'server', gateReasons)
    }
    context.values.set(callContextKey, contextOfHeaders(context.requestHeader))
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
