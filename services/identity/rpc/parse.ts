import type { HandlerContext } from '@connectrpc/connect'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import type { By } from '../domain/audit.ts'

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

/** Who makes a change, and when. */
export function byOf({ apiKeyId }: Principal, clock: Clock): By {
  return { actor: apiKeyId === '' ? { kind: 'operator' } : { kind: 'api-key', keyId: apiKeyId }, time: clock.now() }
}
