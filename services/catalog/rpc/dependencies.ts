import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { Attachments } from '../ports/attachments.ts'
import type { Locations } from '../ports/locations.ts'
import type { McpServers } from '../ports/mcp-servers.ts'
import type { PluginPackages } from '../ports/plugin-packages.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import type { ToolCalls } from '../run/tool-calls.ts'

export interface CatalogDependencies {
  readonly locations: Locations
  readonly opened: OpenLocations
  readonly attachments: Attachments
  readonly calls: ToolCalls
  readonly mcpServers: McpServers
  readonly packages: PluginPackages
}

/** Handlers of some RPCs of the catalog. */
export type Handlers = Partial<ServiceImpl<typeof CatalogService>>
