import type { ModelRef, PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** Time limits of a provider, in milliseconds; if absent, those of the inference service. */
export interface RequestTimeouts {
  readonly totalMs?: number
  /** Until an answer begins. */
  readonly headersMs?: number
  /** Between two pieces of an answer. */
  readonly chunkMs?: number
}

/** An agent, with the members that running a session needs. */
export interface Agent {
  readonly id: string
  /** Instructions; undefined: none of its own. */
  readonly system: string | undefined
  /** Further instructions that follow, most general first. */
  readonly instructions: readonly string[]
  readonly model: ModelRef | undefined
  /** Most steps after one input; undefined: no limit. */
  readonly steps: number | undefined
  /** In order; the last rule that matches wins. */
  readonly permissions: readonly PermissionRule[]
  /** Passed on to the provider. */
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly requestBody: JsonObject | undefined
  readonly requestTimeouts: RequestTimeouts
}

/** Instructions for one kind of work, as far as a prompt names them. */
export interface Skill {
  readonly id: string
  readonly name: string
  readonly text: string
}

/** An agent that others may call, with the members that they choose by. */
export interface SubagentSummary {
  readonly id: string
  readonly description: string | undefined
  /** The model that it prefers. */
  readonly model: ModelRef | undefined
}

/** A location as one step sees it, in the generation that was current when the step began. */
export interface PinnedLocation {
  readonly directory: string
  /** The generation's id; an older catalog sends none. */
  readonly generation?: string
}

/** A tool as the model sees it. */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** JSON Schema. */
  readonly inputSchema: JsonObject
}

/** What a tool call needs permission for. */
export interface ToolAccess {
  readonly action: string
  readonly resources: readonly string[]
  /** Absolute real path of a file that is guarded and would be changed; undefined: none. */
  readonly guardedPath?: string | undefined
}

/** A tool call, before it is checked. */
export interface ToolRequest {
  readonly sessionId: string
  readonly name: string
  readonly input: JsonObject
}

/** What permission is requested for. */
export interface PermissionNeed {
  readonly accesses: readonly ToolAccess[]
  /** Patterns that an `always` answer saves. */
  readonly savePatterns: readonly string[]
}

/** A tool call that was checked and has not begun. */
export interface PreparedCall extends PermissionNeed {
  /** The input as changed by plugins. */
  readonly input: JsonObject
  /** A plugin or an MCP server does the call. */
  readonly external: boolean
}
