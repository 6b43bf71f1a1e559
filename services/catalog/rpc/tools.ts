import { principalOf } from '#shared/rpc/call-context.ts'
import { check, parseRequired } from '#shared/rpc/parse.ts'
import { type CallRequest, runCall } from '../run/run-call.ts'
import { type CatalogDependencies, type Handlers, useLocation } from './dependencies.ts'

export function toolHandlers(dependencies: CatalogDependencies) {
  const { locations, opened, attachments, calls, mcpServers } = dependencies
  return {
    async listTools(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      const { id, tools } = await opened.open(location).generation(request.generation, true)
      return { tools: [...tools.list()], generation: id }
    },

    async listMcpServers(request, context) {
      using at = await useLocation(dependencies, request.directory, context)
      await at.open.generation(undefined, true)
      return { location: at.location, servers: mcpServers.states(at.location) }
    },

    async readAttachment(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      return await attachments.read(location, request.uri)
    },

    async prepareTool(request, context) {
      using at = await useLocation(dependencies, request.directory, context)
      const { tools, plugins } = await at.open.generation(request.generation)
      const { name, input: original = {}, sessionId = '' } = request
      const isHooked = plugins.hooks.has('tool.before')
      const call = { sessionId, tool: name, input: original }
      const input = isHooked ? await plugins.beforeTool(call, context.signal) : original
      const { accesses, savePatterns, external } = await tools.prepare(at.location, name, input)
      return { input: input === original ? undefined : input, accesses, savePatterns, external }
    },

    async *runTool(request, context) {
      const { workspaceId } = principalOf(context)
      const { fence, name, input = {}, grant } = request
      const sessionId = parseRequired('session_id', request.sessionId)
      const callId = parseRequired('call_id', request.callId)
      check(fence >= 1n, 'fence', 'must be at least 1')
      using at = await useLocation(dependencies, request.directory, context)
      const { tools, plugins } = await at.open.generation(request.generation)
      const call = await calls.begin(workspaceId, sessionId, callId, fence)
      const hooked = { sessionId, tool: name, input }
      const after: CallRequest['after'] = async (outcome, signal) => {
        const final = plugins.hooks.has('tool.after') ? await plugins.afterTool(hooked, outcome, signal) : outcome
        const failed = final.case === 'failed'
        plugins.emit('tool.ended', { sessionID: sessionId, callID: callId, tool: name, failed })
        return final
      }
      const run = { name, input, grant, identity: { sessionId, callId }, after }
      for await (const event of runCall(tools, at.location, call, run, context.signal)) yield { event }
    },

    async endTools({ sessionId, fence }, context) {
      const { workspaceId } = principalOf(context)
      const session = parseRequired('session_id', sessionId)
      return { endedCallIds: await calls.endOlder(workspaceId, session, fence) }
    },
  } satisfies Handlers
}
