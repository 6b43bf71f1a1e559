import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { McpServers } from '../ports/mcp-servers.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { locationToProto, mcpServerToProto } from './convert.ts'

/** Lists the MCP servers of a location, after starting those that may run and waiting for them. */
export function listMcpServers(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
  readonly mcpServers: McpServers
}): ServiceImpl<typeof CatalogService>['listMcpServers'] {
  const { locations, opened, mcpServers } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    await open.generation(undefined, true)
    return { location: locationToProto(location), servers: mcpServers.states(location).map(mcpServerToProto) }
  }
}
