import type { Location } from '../domain/location.ts'
import type { McpServerState } from '../domain/mcp/server-state.ts'

/** Knows the MCP servers of locations that are open. */
export interface McpServers {
  /** Those of a location, usable or not, in the order of its configuration; as it was when that was last read. */
  states(location: Location): readonly McpServerState[]
}
