import type { ServiceImpl } from '@connectrpc/connect'
import type { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { apiKeyToProto } from './convert.ts'
import { managerOf, parseKeyId } from './parse.ts'

/** Enables or disables a key of the caller's workspace; a disabled one is refused from the next call on. */
export function updateApiKey(dependencies: {
  readonly store: IdentityStore
}): ServiceImpl<typeof IdentityService>['updateApiKey'] {
  const { store } = dependencies
  return async (request, context) => {
    const { workspaceId } = managerOf(context)
    const keyId = parseKeyId(request.keyId)
    const key = await store.setKeyDisabled(workspaceId, keyId, request.disabled)
    if (key === undefined) throw new Rejection('API_KEY_NOT_FOUND', { key_id: keyId })
    return { apiKey: apiKeyToProto(key) }
  }
}
