import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'

/** Checks the input of a tool call, and returns what it requires permission for. */
export function prepareTool(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['prepareTool'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    const { tools, plugins } = await open.generation(request.generation)
    const { name, input: given = {}, sessionId = '' } = request
    const hooked = plugins.hooks.has('tool.before')
    const input = hooked ? await plugins.beforeTool({ sessionId, tool: name, input: given }, context.signal) : given
    const { accesses, savePatterns, external } = await tools.prepare(location, name, input)
    return {
      ...(input !== given && { input }),
      accesses: accesses.map(({ resources, ...access }) => ({ ...access, resources: [...resources] })),
      savePatterns: [...savePatterns],
      external,
    }
  }
}
