import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { PluginSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { PluginInfo } from '../domain/plugins/plugin.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { locationToProto } from './convert.ts'

/** Lists the plugins of a location, including failed ones, once their states are known. */
export function listPlugins(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['listPlugins'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    await (await open.generation()).plugins.settled(context.signal)
    const { plugins } = await open.generation()
    return { location: locationToProto(location), plugins: plugins.list.map(pluginToProto) }
  }
}

export function pluginToProto(info: PluginInfo): MessageInitShape<typeof PluginSchema> {
  const { id, origin, version, outdated, updating, failure } = info
  return {
    pluginId: id,
    source:
      origin.type === 'local'
        ? { case: 'local', value: { path: origin.path } }
        : { case: 'package', value: { target: origin.target, version, outdated, updating } },
    ...(failure !== undefined && { failure }),
  }
}
