import type { HandlerContext } from '@connectrpc/connect'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'

/** The principal of a call that only management keys and the local operator may make. */
export function managerOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'management' || principal.kind === 'local-operator') return principal
  throw new Rejection('MANAGEMENT_KEY_REQUIRED')
}

/** A request that can't be understood; `problem` completes a sentence that begins with the field's name. */
export function invalid(field: string, problem: string): Rejection {
  return new Rejection('REQUEST_INVALID', { field, problem })
}

/** A key's identifier as a caller gave it. */
export function parseKeyId(keyId: string): string {
  if (!/^key_[0-9A-Za-z]{1,60}$/.test(keyId)) throw invalid('key_id', 'must be an id of the form key_…')
  return keyId
}
