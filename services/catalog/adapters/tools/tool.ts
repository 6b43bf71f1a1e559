import type { ToolAccess } from '#services/catalog/domain/access.ts'
import type { ToolContent, ToolDescription } from '#services/catalog/ports/tools.ts'
import type { JsonObject } from '#shared/json.ts'

/** A tool: how it is described, and what a call of it would do. `I` is the input that its schema admits. */
export interface Tool<I> extends ToolDescription {
  /** Looks what a call touches now, and changes nothing. Throws InputError for what the schema cannot say. */
  plan(directory: string, input: I): Promise<Plan>
}

/** A call that has not begun. */
export interface Plan {
  readonly accesses: readonly ToolAccess[]
  /** Real path of the file that it changes, if it changes one. */
  readonly changes?: string
  /** Longest time that it may take, from its beginning. */
  readonly timeoutMs: number
  /** Waits until it may begin; its place is given back once it has ended. Throws the signal's reason. */
  readonly begin?: (signal: AbortSignal) => Promise<Disposable>
  /**
   * Does it, to the real paths that were looked at and to no others. Throws ToolError for what the model shall read.
   * Whatever it started has ended when it settles, and when the signal aborts it settles soon.
   */
  run(context: ToolContext): Promise<ToolSuccess>
}

/** What a call works with. */
export interface ToolContext {
  readonly signal: AbortSignal
  readonly progress: (metadata: JsonObject) => void
}

export interface ToolSuccess {
  readonly content: readonly ToolContent[]
  readonly metadata: JsonObject
}

/** A call ended badly, in a way that the model shall read. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  /** `not_found`, `outside_location`, … */
  readonly kind: string
  readonly content: readonly ToolContent[]
  readonly metadata: JsonObject

  constructor(kind: string, message: string, part: Partial<ToolSuccess> = {}) {
    super(message)
    this.kind = kind
    this.content = part.content ?? []
    this.metadata = part.metadata ?? {}
  }
}

/** The input is not what the tool needs; the message is for the model. */
export class InputError extends Error {
  override readonly name = 'InputError'
}

/** An answer of one text. */
export function textOf(text: string, metadata: JsonObject = {}): ToolSuccess {
  return { content: [{ type: 'text', text }], metadata }
}

/** Whether a call was ended, for this reason, because its time is over: what it has found by then may be of use. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError'
}

/** JSON Schema of an object that has these members and no others. */
export function objectSchema(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** JSON Schema of a path. */
export function pathSchema(description: string): JsonObject {
  // A null character ends a path for the system, so that what is checked would not be what is opened.
  return { type: 'string', minLength: 1, maxLength: 4096, pattern: '^[^\\u0000]*$', description }
}

/** Longest time that a tool may take which only looks at files or changes one. */
export const FILE_TOOL_TIMEOUT_MS = 30_000
