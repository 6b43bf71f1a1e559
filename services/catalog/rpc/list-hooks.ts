import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'

/** Lists the hooks that some plugin of a location has. */
export function listHooks(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['listHooks'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const { plugins } = await opened.open(location).generation()
    return { names: [...plugins.hooks] }
  }
}
