import type { Location } from '../domain/location.ts'
import type { McpServerState } from '../domain/mcp/server-state.ts'

/** Knows the MCP servers of open locations. */
export interface McpServers {
  /** The servers of a location, usable or not, in the order of its configuration as last read. */
  states(location: Location): readonly McpServerState[]
}
