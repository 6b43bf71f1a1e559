/** A kind of change in an open location. */
export type CatalogChange =
  | { readonly type: 'agents-updated' | 'skills-updated' | 'plugins-updated' | 'location-shutdown' }
  /** The status of an MCP server, or its tools. */
  | { readonly type: 'mcp-server-updated' | 'mcp-tools-changed'; readonly server: string }

/** A change in an open location. */
export type CatalogEvent = CatalogChange & {
  readonly id: string
  /** When it was noticed, in milliseconds since the epoch. */
  readonly timeCreated: number
  readonly directory: string
}
