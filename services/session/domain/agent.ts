import type { JsonObject } from '#shared/json.ts'
import type { PermissionRule } from './permission/permission.ts'
import type { ModelRef } from './session.ts'

/** How long a provider may take, in milliseconds; what is left out: as long as inference lets it. */
export interface RequestTimeouts {
  readonly totalMs?: number
  /** Until an answer begins. */
  readonly headersMs?: number
  /** Between two pieces of an answer. */
  readonly chunkMs?: number
}

/** A role that a session runs in, as far as running it goes. */
export interface Agent {
  readonly id: string
  /** Instructions; undefined: none of its own. */
  readonly system: string | undefined
  /** What stands after them, most general first. */
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

/** An agent that others may call, as far as they choose by it. */
export interface SubagentSummary {
  readonly id: string
  readonly description: string | undefined
  /** The model that it prefers. */
  readonly model: ModelRef | undefined
}

/** A directory as one step sees it: what the catalog offered there when the step began. */
export interface PinnedLocation {
  readonly directory: string
  /** As the catalog named it; an older catalog names none. */
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
  /** What plugins have made of the input. */
  readonly input: JsonObject
  /** A plugin or an MCP server does the call. */
  readonly external: boolean
}
