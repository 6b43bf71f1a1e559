import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { joinProblems, packageTargets } from '../domain/plugins/package-targets.ts'
import type { Locations } from '../ports/locations.ts'
import type { PluginPackages } from '../ports/plugin-packages.ts'
import type { OpenLocations } from '../run/open-locations.ts'

/** Updates plugins that are packages. Locations that use them notice it by themselves. */
export function updatePlugins(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
  readonly packages: PluginPackages
}): ServiceImpl<typeof CatalogService>['updatePlugins'] {
  const { locations, opened, packages } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    const known = new Map(packageTargets((await open.generation()).plugins.list).map((one) => [one.target, one]))
    const wanted = [...new Set(request.targets)].map((target) => {
      const one = known.get(target)
      if (one === undefined) throw new Rejection('PLUGIN_NOT_FOUND', { field: 'targets', target })
      return one
    })
    const outcomes = await Promise.all(
      wanted.map(async ({ target, problem }) => {
        if (problem !== undefined) return { target, problem }
        return await packages.update(target, context.signal).then(
          () => undefined,
          (error: unknown) => ({ target, problem: problemOf(error, context.signal) }),
        )
      }),
    )
    const failures = outcomes.filter((outcome) => outcome !== undefined)
    if (failures.length > 0) throw new Rejection('PLUGINS_NOT_UPDATED', { problem: joinProblems(failures) })
    return {}
  }
}

/** Throws the signal's reason if it has aborted. */
function problemOf(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted()
  return error instanceof Error ? error.message : String(error)
}
