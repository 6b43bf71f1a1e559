import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
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

/** Opens the location of a request, and keeps it open until the result is disposed. */
export async function useLocation(
  { locations, opened }: Pick<CatalogDependencies, 'locations' | 'opened'>,
  directory: string | undefined,
  context: HandlerContext,
) {
  const location = await locations.resolve(principalOf(context), directory)
  const open = opened.open(location)
  const use = open.use()
  return { location, open, [Symbol.dispose]: () => use[Symbol.dispose]() }
}
