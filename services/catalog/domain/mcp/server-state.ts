/** How an MCP server of a location is. */
export interface McpServerState {
  readonly name: string
  /**
   * `idle`: it was not needed yet, or its process made room for others, and starts when it is needed. `failed`: it cannot be
   * used, or is away and tried again.
   */
  readonly status: 'connected' | 'idle' | 'starting' | 'disabled' | 'failed' | 'needs_auth'
  /** Why, for people; of `failed` and `needs_auth`. */
  readonly error: string | undefined
  /** How many of its tools are offered. */
  readonly tools: number
  /** Names of tools that are not offered, for lack of room or because something is wrong with them; the first twenty. */
  readonly omitted: readonly string[]
  readonly omittedCount: number
}
