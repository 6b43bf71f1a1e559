import type { ServiceImpl } from '@connectrpc/connect'
import type { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { apiKeyToProto } from './convert.ts'
import { managerOf, manages, parseKeyId } from './parse.ts'

/** Gets a key of the caller's workspace: the caller's own or, for callers that manage keys, any that they manage. */
export function getApiKey(dependencies: {
  readonly store: IdentityStore
}): ServiceImpl<typeof IdentityService>['getApiKey'] {
  const { store } = dependencies
  return async ({ key }, context) => {
    check(key.case !== undefined, 'key', 'must be set')
    const principal = principalOf(context)
    const isOwn = key.case === 'keyId' && key.value === principal.apiKeyId
    if (!isOwn) managerOf(context)
    const found = await (key.case === 'hash'
      ? store.findKey(key.value)
      : store.getKey(principal.workspaceId, parseKeyId(key.value)))
    // Keys of other workspaces do not exist.
    const isThere = found?.key.workspaceId === principal.workspaceId && (isOwn || manages(principal, found.key.kind))
    if (!isThere) {
      throw new Rejection('API_KEY_NOT_FOUND', { key_id: key.value.slice(0, 64) })
    }
    return { apiKey: apiKeyToProto(found.key, found.workspaceLimitNanos) }
  }
}
