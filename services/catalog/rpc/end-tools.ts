import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import { parseRequired } from '#shared/rpc/parse.ts'
import type { ToolCalls } from '../run/tool-calls.ts'

/** Ends all calls of a session under older fences; returns when nothing of them is left. */
export function endTools(dependencies: { readonly calls: ToolCalls }): ServiceImpl<typeof CatalogService>['endTools'] {
  return async ({ sessionId, fence }, context) => {
    const { workspaceId } = principalOf(context)
    const session = parseRequired('session_id', sessionId)
    return { endedCallIds: await dependencies.calls.endOlder(workspaceId, session, fence) }
  }
}
