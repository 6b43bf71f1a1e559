import type { Location, McpServer } from '#gen/portico/catalog/v1/catalog_pb.js'

/** Knows the MCP servers of open locations. */
export interface McpServers {
  /** The servers of a location, usable or not, in the order of its configuration as last read. */
  states(location: Location): McpServer[]
}
