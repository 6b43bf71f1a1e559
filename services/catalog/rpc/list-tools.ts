import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'

/** Lists the tools of a location. */
export function listTools(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['listTools'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const { id, tools } = await opened.open(location).generation(request.generation, true)
    return { tools: [...tools.list()], generation: id }
  }
}
