import type { ServiceImpl } from '@connectrpc/connect'
import { type IdentityService, SetWorkspaceLimitRequestSchema } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import { byOf, operatorOf } from './parse.ts'

const checkRequest = checkLimits(SetWorkspaceLimitRequestSchema)

/** Sets the spending limit of all keys of the caller's workspace together. */
export function setWorkspaceLimit(dependencies: {
  readonly store: IdentityStore
  readonly clock: Clock
}): ServiceImpl<typeof IdentityService>['setWorkspaceLimit'] {
  const { store, clock } = dependencies
  return async (request, context) => {
    const operator = operatorOf(context)
    checkRequest(request)
    const { workspaceId } = operator
    const found = await store.setWorkspaceLimit(workspaceId, request.limitNanos, byOf(operator, clock))
    if (!found) throw new Rejection('WORKSPACE_NOT_FOUND', { workspace_id: workspaceId })
    return {}
  }
}
