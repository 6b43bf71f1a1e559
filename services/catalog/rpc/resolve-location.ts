import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import { locationToProto } from './convert.ts'

/** Resolves a directory to a location. */
export function resolveLocation(dependencies: {
  readonly locations: Locations
}): ServiceImpl<typeof CatalogService>['resolveLocation'] {
  return async ({ directory, baseDirectory }, context) => {
    const location = await dependencies.locations.resolve(principalOf(context), directory, baseDirectory)
    return { location: locationToProto(location) }
  }
}
