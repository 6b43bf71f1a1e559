/** The state of an MCP server of a location. */
export interface McpServerState {
  readonly name: string
  /**
   * `idle`: it was not needed yet, or its process made room for others; it starts when it is needed. `failed`: it
   * cannot be used, or is unavailable and will be tried again.
   */
  readonly status: 'connected' | 'idle' | 'starting' | 'disabled' | 'failed' | 'needs_auth'
  /** The reason for people, with `failed` and `needs_auth`. */
  readonly error: string | undefined
  /** How many of its tools are offered. */
  readonly tools: number
  /**
   * Names of tools that are not offered, because there is no room or something is wrong with them; the first twenty.
   */
  readonly omitted: readonly string[]
  readonly omittedCount: number
}
