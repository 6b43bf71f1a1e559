import type { CallContext, Caller, Principal } from '#shared/rpc/call-context.ts'

/** What a call to another service carries: on whose behalf it is made, and a signal that ends it. */
export interface PeerCall extends CallContext {
  readonly principal: Principal
  readonly signal: AbortSignal
  /** Whose signal that is; undefined: nobody's that is known. */
  readonly caller?: Caller | undefined
}
