import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { Tools } from '../ports/tools.ts'

/** Lists the tools of a location. */
export function listTools(dependencies: {
  readonly locations: Locations
  readonly tools: Tools
}): ServiceImpl<typeof CatalogService>['listTools'] {
  return async (request, context) => {
    await dependencies.locations.resolve(principalOf(context), request.directory)
    return { tools: [...dependencies.tools.list()] }
  }
}
