import type { ServiceImpl } from '@connectrpc/connect'
import type { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { isUsable } from '../domain/api-key.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { termsToProto } from './key-terms.ts'
import { parseKeyId } from './parse.ts'

/**
 * Checks that a key of the caller's workspace may still spend, and returns its terms; its state is read from the store
 * for each call.
 */
export function checkApiKey(dependencies: {
  readonly store: IdentityStore
  readonly clock: Clock
}): ServiceImpl<typeof IdentityService>['checkApiKey'] {
  const { store, clock } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const found = await store.getKey(workspaceId, parseKeyId(request.keyId))
    if (found === undefined || !isUsable(found.key, clock.now())) throw new Rejection('CREDENTIAL_REFUSED')
    return { terms: termsToProto(found.key.terms, found.workspaceLimitNanos) }
  }
}
