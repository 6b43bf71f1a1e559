import type { ServiceImpl } from '@connectrpc/connect'
import type { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { apiKeyToProto } from './convert.ts'
import { byOf, managerOf, parseKeyId } from './parse.ts'

/** Enables or disables a key of the caller's workspace; a disabled one is refused from the next call on. */
export function updateApiKey(dependencies: {
  readonly store: IdentityStore
  readonly clock: Clock
}): ServiceImpl<typeof IdentityService>['updateApiKey'] {
  const { store, clock } = dependencies
  return async (request, context) => {
    const manager = managerOf(context)
    const keyId = parseKeyId(request.keyId)
    const key = await store.setKeyDisabled(manager.workspaceId, keyId, request.disabled, byOf(manager, clock))
    if (key === undefined) throw new Rejection('API_KEY_NOT_FOUND', { key_id: keyId })
    return { apiKey: apiKeyToProto(key) }
  }
}
