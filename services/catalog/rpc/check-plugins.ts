import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { packageTargets } from '../domain/plugins/package-targets.ts'
import type { Locations } from '../ports/locations.ts'
import type { PluginPackages } from '../ports/plugin-packages.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { locationToProto } from './convert.ts'
import { pluginToProto } from './list-plugins.ts'

/** Checks for newer versions of one plugin that is a package, or of all, and lists the plugins of the location. */
export function checkPlugins(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
  readonly packages: PluginPackages
}): ServiceImpl<typeof CatalogService>['checkPlugins'] {
  const { locations, opened, packages } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    const all = packageTargets((await open.generation()).plugins.list)
    const { target } = request
    const wanted = target === undefined ? all : all.filter((one) => one.target === target)
    if (target !== undefined && wanted.length === 0) {
      throw new Rejection('PLUGIN_NOT_FOUND', { field: 'target', target })
    }
    const allowed = wanted.filter(({ problem }) => problem === undefined).map(({ target }) => target)
    await packages.check(allowed, context.signal)
    const { plugins } = await open.generation()
    return { location: locationToProto(location), plugins: plugins.list.map(pluginToProto) }
  }
}
