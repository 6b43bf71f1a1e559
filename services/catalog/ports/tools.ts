import type { Location, Tool, ToolAccess } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { ToolOutcome } from '../domain/tool-outcome.ts'
import type { Source } from './source.ts'

/** A tool call that has not begun. */
export interface PreparedCall {
  readonly accesses: ToolAccess[]
  /** Patterns that an `always` reply saves; none if they would match more than this call. */
  readonly savePatterns: string[]
  /** Whether a plugin or an MCP server carries it out. */
  readonly external: boolean
  /**
   * Carries out what was prepared, on the real paths in `accesses` and on no others. Settles only when everything that
   * it started has ended, even if the signal aborts (then it throws the signal's reason) or its time is over.
   * `progress` may be called any number of times before.
   */
  run(signal: AbortSignal, progress: (metadata: JsonObject) => void, identity: CallIdentity): Promise<ToolOutcome>
}

export interface CallIdentity {
  readonly sessionId: string
  readonly callId: string
}

export type ToolSource = Source<Tools>

/**
 * The tools of a location. Rejections are TOOL_NOT_FOUND, TOOL_INPUT_INVALID and TOOL_UNAVAILABLE (metadata name,
 * problem).
 */
export interface Tools {
  /** In a fixed order. */
  list(): readonly Tool[]
  /** Checks a call and returns what it touches now: real paths, not only those in its input. Changes nothing. */
  prepare(location: Location, name: string, input: JsonObject): Promise<PreparedCall>
}
