import type { JsonObject } from '#shared/json.ts'
import type { ToolAccess } from '../domain/access.ts'
import type { Location } from '../domain/location.ts'
import type { Source } from './source.ts'

/** A tool call that has not begun. */
export interface PreparedCall {
  readonly accesses: readonly ToolAccess[]
  /** Patterns that an `always` answer saves; none when they would match more than this call. */
  readonly savePatterns: readonly string[]
  /** A plugin or an MCP server does it. */
  readonly external: boolean
  /**
   * Does what was prepared, to the real paths that `accesses` names and to no others. Settles only when everything that
   * it started has ended, also when the signal aborts (then it throws the signal's reason) or its time is over.
   * `progress` may be called any number of times before.
   */
  run(signal: AbortSignal, progress: (metadata: JsonObject) => void, identity: CallIdentity): Promise<ToolOutcome>
}

/** Whose call it is. */
export interface CallIdentity {
  readonly sessionId: string
  readonly callId: string
}

export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly data: Uint8Array; readonly mime: string; readonly name: string }

/** How a tool call ended; a failure is one for the model to read. */
export type ToolOutcome =
  | { readonly type: 'completed'; readonly content: readonly ToolContent[]; readonly metadata: JsonObject }
  | {
      readonly type: 'failed'
      readonly kind: string
      readonly message: string
      readonly content: readonly ToolContent[]
      readonly metadata: JsonObject
    }

/** Knows the tools that work in locations. */
export type ToolSource = Source<Tools>

/** The tools that work in a location. Rejections are TOOL_NOT_FOUND, TOOL_INPUT_INVALID and TOOL_UNAVAILABLE (metadata name, problem). */
export interface Tools {
  /** In a fixed order. */
  list(): readonly ToolDescription[]
  /** Checks a call and says what it touches now: real paths, not only the ones that are written. Changes nothing. */
  prepare(location: Location, name: string, input: JsonObject): Promise<PreparedCall>
}
