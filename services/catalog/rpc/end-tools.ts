import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { ToolCalls } from '../run/tool-calls.ts'

/** Ends all calls of a session under older fences; answers when nothing of them is left. */
export function endTools(dependencies: { readonly calls: ToolCalls }): ServiceImpl<typeof CatalogService>['endTools'] {
  return async ({ sessionId, fence }, context) => {
    const { workspaceId } = principalOf(context)
    if (sessionId === '') throw new Rejection('REQUEST_INVALID', { field: 'session_id', problem: 'must not be empty' })
    return { endedCallIds: await dependencies.calls.endOlder(workspaceId, sessionId, fence) }
  }
}
