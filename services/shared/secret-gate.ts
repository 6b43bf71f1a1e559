import { createHash, timingSafeEqual } from 'node:crypto'
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect'
import { callContextKey } from '#shared/call-context.ts'
import { contextOfHeaders, SECRET_HEADER } from '#shared/call-metadata.ts'

/**
 * A gate before every call, run before the body is read: without the secret the call is UNAUTHENTICATED, with it the
 * principal and the request id in its metadata are believed. The comparison takes the same time for every wrong secret.
 */
export function secretGate(secret: string): (context: HandlerContext) => void {
  const expected = sha256(secret)
  return (context) => {
    if (!timingSafeEqual(sha256(context.requestHeader.get(SECRET_HEADER) ?? ''), expected)) {
      throw new ConnectError('The internal secret is missing or wrong', Code.Unauthenticated)
    }
    context.values.set(callContextKey, contextOfHeaders(context.requestHeader))
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
