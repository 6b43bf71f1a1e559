import { principalOf } from '#shared/rpc/call-context.ts'
import { check, parseRequired } from '#shared/rpc/parse.ts'
import { type CallRequest, runCall } from '../run/run-call.ts'
import type { CatalogDependencies, Handlers } from './dependencies.ts'

export function toolHandlers({ locations, opened, attachments, calls, mcpServers }: CatalogDependencies) {
  return {
    async listTools(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      const { id, tools } = await opened.open(location).generation(request.generation, true)
      return { tools: [...tools.list()], generation: id }
    },

    async listMcpServers(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      const open = opened.open(location)
      using _ = open.use()
      await open.generation(undefined, true)
      return { location, servers: mcpServers.states(location) }
    },

    async readAttachment(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      return await attachments.read(location, request.uri)
    },

    async prepareTool(request, context) {
      const location = await locations.resolve(principalOf(context), request.directory)
      const open = opened.open(location)
      using _ = open.use()
      const { tools, plugins } = await open.generation(request.generation)
      const { name, input: original = {}, sessionId = '' } = request
      const isHooked = plugins.hooks.has('tool.before')
      const call = { sessionId, tool: name, input: original }
      const input = isHooked ? await plugins.beforeTool(call, context.signal) : original
      const { accesses, savePatterns, external } = await tools.prepare(location, name, input)
      return { input: input === original ? undefined : input, accesses, savePatterns, external }
    },

    async *runTool(request, context) {
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
        const failed = final.case === 'failed'
        plugins.emit('tool.ended', { sessionID: sessionId, callID: callId, tool: name, failed })
        return final
      }
      const run = { name, input, grant, identity: { sessionId, callId }, after }
      for await (const event of runCall(tools, location, call, run, context.signal)) yield { event }
    },

    async endTools({ sessionId, fence }, context) {
      const { workspaceId } = principalOf(context)
      const session = parseRequired('session_id', sessionId)
      return { endedCallIds: await calls.endOlder(workspaceId, session, fence) }
    },
  } satisfies Handlers
}
