import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check, parseRequired } from '#shared/rpc/parse.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { type CallRequest, runCall } from '../run/run-call.ts'
import type { ToolCalls } from '../run/tool-calls.ts'
import { callEventToProto } from './convert.ts'

/** Runs a tool call once, under the session's newest fence. */
export function runTool(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
  readonly calls: ToolCalls
}): ServiceImpl<typeof CatalogService>['runTool'] {
  const { locations, opened, calls } = dependencies
  return async function* (request, context) {
    const { workspaceId } = principalOf(context)
    const { fence, name, input = {}, grant } = request
    const sessionId = parseRequired('session_id', request.sessionId)
    const callId = parseRequired('call_id', request.callId)
    check(fence >= 1n, 'fence', 'must be at least 1')
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    const { tools, plugins } = await open.generation(request.generation)
    const call = await calls.begin(workspaceId, sessionId, callId, fence)
    const hooked = { sessionId, tool: name, input }
    const after: CallRequest['after'] = async (outcome, signal) => {
      const final = plugins.hooks.has('tool.after') ? await plugins.afterTool(hooked, outcome, signal) : outcome
      plugins.emit('tool.ended', { sessionID: sessionId, callID: callId, tool: name, failed: final.type === 'failed' })
      return final
    }
    const run = { name, input, grant, identity: { sessionId, callId }, after }
    for await (const event of runCall(tools, location, call, run, context.signal)) yield callEventToProto(event)
  }
}
