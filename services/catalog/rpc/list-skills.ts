import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { locationToProto, skillToProto } from './convert.ts'

/** Lists the skills of a location. */
export function listSkills(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['listSkills'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const { id, skills } = await opened.open(location).generation()
    return { location: locationToProto(location), skills: skills.map(skillToProto), generation: id }
  }
}
