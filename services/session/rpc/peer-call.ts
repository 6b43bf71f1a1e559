import type { HandlerContext } from '@connectrpc/connect'
import { callContextKey, principalOf } from '#shared/rpc/call-context.ts'
import type { PeerCall } from '../ports/peer-call.ts'

/** A call to another service on behalf of the caller, that ends with the caller's. Rejects with PRINCIPAL_MISSING. */
export function peerCallOf(context: HandlerContext): PeerCall {
  const principal = principalOf(context)
  const { requestId } = context.values.get(callContextKey)
  return { principal, requestId, signal: context.signal }
}
