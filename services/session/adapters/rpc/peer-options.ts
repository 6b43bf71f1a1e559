import type { CallOptions } from '@connectrpc/connect'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { callOptions } from '#shared/rpc/call-context.ts'

export function peerOptions(call: PeerCall, timeoutMs?: number): CallOptions {
  const { caller } = call
  return callOptions(call, caller === undefined ? { signal: call.signal, timeoutMs } : { caller, timeoutMs })
}
