import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { skillToProto } from './convert.ts'

/** Gets one skill. */
export function getSkill(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['getSkill'] {
  const { locations, opened } = dependencies
  return async ({ directory, skillId }, context) => {
    const location = await locations.resolve(principalOf(context), directory)
    const { skills } = await opened.open(location).generation()
    const skill = skills.find(({ id }) => id === skillId)
    if (skill === undefined) throw new Rejection('SKILL_NOT_FOUND', { skill_id: skillId.slice(0, 256) })
    return { skill: skillToProto(skill) }
  }
}
