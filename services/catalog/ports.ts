import type { Principal } from '#shared/rpc/call-context.ts'
import type { AgentSet } from './domain/agent-merge.ts'
import type { JsonObject } from './domain/json.ts'
import type { Location } from './domain/location.ts'

/** Knows which directories there are, and what they belong to. */
export interface Locations {
  /**
   * Resolves an absolute path, or the default project directory when it is empty. What is answered was true at most one
   * second ago. Rejects (metadata `directory`) with LOCATION_INVALID when it is not absolute or no directory,
   * LOCATION_NOT_FOUND when it is not there, LOCATION_FORBIDDEN when it is unreadable or when the principal is not the
   * local operator and it lies outside the roots of its workspace; whether something outside exists is not told.
   */
  resolve(principal: Principal, directory: string): Promise<Location>
}

/** Knows the agents of a location: the built-in ones, and those of configuration documents and Markdown files. */
export interface Agents {
  /** What the files say now. A file that cannot be read as what it should be is logged and skipped. */
  list(location: Location): Promise<AgentSet>
}

/** What a tool call needs leave for. */
export interface ToolAccess {
  readonly action: string
  /** Paths relative to the location (`.` is the location), absolute ones outside of it, or a command. */
  readonly resources: readonly string[]
  /** Absolute real path of the file that is changed, when the rules of agents must not allow that by themselves. */
  readonly guardedPath?: string
}

/** A tool call that has not begun. */
export interface PreparedCall {
  readonly accesses: readonly ToolAccess[]
  /** Patterns that an `always` answer saves; none when they would match more than this call. */
  readonly savePatterns: readonly string[]
  /**
   * Does what was prepared, to the real paths that `accesses` names and to no others. Settles only when everything that
   * it started has ended, also when the signal aborts (then it throws the signal's reason) or its time is over.
   * `progress` may be called any number of times before.
   */
  run(signal: AbortSignal, progress: (metadata: JsonObject) => void): Promise<ToolOutcome>
}

export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly data: Uint8Array; readonly mime: string; readonly name: string }

/** How a tool call ended; a failure is one that the model is told of. */
export type ToolOutcome =
  | { readonly type: 'completed'; readonly content: readonly ToolContent[]; readonly metadata: JsonObject }
  | {
      readonly type: 'failed'
      readonly kind: string
      readonly message: string
      readonly content: readonly ToolContent[]
      readonly metadata: JsonObject
    }

/** The tools that work in a location. Rejections are TOOL_NOT_FOUND and TOOL_INPUT_INVALID (metadata name, problem). */
export interface Tools {
  /** In a fixed order. */
  list(): readonly ToolDescription[]
  /** Checks a call and says what it touches now: real paths, not only the ones that are written. Changes nothing. */
  prepare(location: Location, name: string, input: JsonObject): Promise<PreparedCall>
}

export interface Attachment {
  readonly data: Uint8Array
  readonly mime: string
  /** Empty for `data:`. */
  readonly name: string
}

/** Reads what a prompt attaches. */
export interface Attachments {
  /**
   * Reads a `data:` or `file:` URI, the latter within the location only. Rejects with ATTACHMENT_INVALID (metadata
   * problem): another scheme, not canonical, unreadable, outside the location, or more than 20 MiB.
   */
  read(location: Location, uri: string): Promise<Attachment>
}
