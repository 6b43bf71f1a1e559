import type { HandlerContext } from '@connectrpc/connect'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'

/** The principal of a call that only management keys and the local operator may make. */
export function managerOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'management' || principal.kind === 'local-operator') return principal
  throw new Rejection('MANAGEMENT_KEY_REQUIRED')
}

/** A key's identifier as a caller gave it. */
export function parseKeyId(keyId: string): string {
  check(/^key_[0-9A-Za-z]{1,60}$/.test(keyId), 'key_id', 'must be an id of the form key_…')
  return keyId
}
