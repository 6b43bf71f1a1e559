import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'

/** Maximum number of characters for all failures together, since an error travels in headers. */
const MAX_PROBLEMS = 4_000

/** Rebuilds the open locations of a principal. */
export function reloadLocations(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['reloadLocations'] {
  const { locations, opened } = dependencies
  return async (_, context) => {
    const principal = principalOf(context)
    const failures = await opened.reload(
      (directory) => locations.allow(principal, directory),
      (directory) => locations.look(directory),
    )
    if (failures.length === 0) return {}
    const problems = failures.map(({ directory, problem }) => `${directory}: ${problem}`).join('; ')
    throw new Rejection('LOCATION_RELOAD_FAILED', { problems: problems.slice(0, MAX_PROBLEMS) })
  }
}
