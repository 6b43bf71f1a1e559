import type { ServiceImpl } from '@connectrpc/connect'
import type { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { byOf, managerOf, requireManagedKey } from './parse.ts'

/**
 * Deletes a key of the caller's workspace; the key, and access tokens that act as it, are refused from the next call
 * on.
 */
export function deleteApiKey(dependencies: {
  readonly store: IdentityStore
  readonly clock: Clock
}): ServiceImpl<typeof IdentityService>['deleteApiKey'] {
  const { store, clock } = dependencies
  return async (request, context) => {
    const manager = managerOf(context)
    const { key } = await requireManagedKey(store, manager, request.keyId)
    const found = await store.deleteKey(manager.workspaceId, key.id, byOf(manager, clock))
    if (!found) throw new Rejection('API_KEY_NOT_FOUND', { key_id: key.id })
    return {}
  }
}
