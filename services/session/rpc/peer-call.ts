import type { HandlerContext } from '@connectrpc/connect'
import { type Caller, callContextKey, type Principal, principalOf } from '#shared/rpc/call-context.ts'
import type { PeerCall } from '../ports/peer-call.ts'

/**
 * A call to another service on behalf of the caller, which ends with the caller's call. Rejects with PRINCIPAL_MISSING.
 */
export function peerCallOf(context: HandlerContext): PeerCall {
  return new HandlersCall(principalOf(context), context)
}

class HandlersCall implements PeerCall {
  readonly principal: Principal
  readonly requestId: string | undefined
  readonly #context: HandlerContext

  constructor(principal: Principal, context: HandlerContext) {
    this.principal = principal
    this.requestId = context.values.get(callContextKey).requestId
    this.#context = context
  }

  /** Within one process, it is created when it is first used. */
  get signal(): AbortSignal {
    return this.#context.signal
  }

  get caller(): Caller | undefined {
    return isCaller(this.#context) ? this.#context : undefined
  }
}

function isCaller(context: HandlerContext): context is HandlerContext & Caller {
  return 'onGone' in context
}
