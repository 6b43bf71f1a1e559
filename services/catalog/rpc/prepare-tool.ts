import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { Tools } from '../ports/tools.ts'

/** Checks the input of a tool call and says what it needs leave for. */
export function prepareTool(dependencies: {
  readonly locations: Locations
  readonly tools: Tools
}): ServiceImpl<typeof CatalogService>['prepareTool'] {
  return async (request, context) => {
    const location = await dependencies.locations.resolve(principalOf(context), request.directory)
    const { accesses, savePatterns } = await dependencies.tools.prepare(location, request.name, request.input ?? {})
    return {
      accesses: accesses.map(({ resources, ...access }) => ({ ...access, resources: [...resources] })),
      savePatterns: [...savePatterns],
    }
  }
}
