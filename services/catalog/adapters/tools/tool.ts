import type { ToolAccess, ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import { textContent } from '#services/catalog/domain/tool-outcome.ts'
import type { JsonObject } from '#shared/json.ts'

/** A tool: its description, and what a call of it would do. `I` is the input that its schema allows. */
export interface Tool<I> {
  readonly name: string
  /** For the model. */
  readonly description: string
  /** JSON Schema. */
  readonly inputSchema: JsonObject
  /**
   * Checks what a call touches now, and changes nothing. Throws InputError for problems that the schema cannot express.
   */
  plan(directory: string, input: I): Promise<Plan>
}

/** A call that has not begun. */
export interface Plan {
  readonly accesses: ToolAccess[]
  /** Real path of the file that it changes, if it changes one. */
  readonly changes?: string
  /** Time limit, from its beginning. */
  readonly timeoutMs: number
  /** Waits until it may begin; its place is given back once it has ended. Throws the signal's reason. */
  readonly begin?: (signal: AbortSignal) => Promise<Disposable>
  /**
   * Carries it out, on the real paths that were checked and on no others. Throws ToolError for problems that the model
   * should read. When it settles, everything that it started has ended; if the signal aborts, it settles soon.
   */
  run(context: ToolContext): Promise<ToolSuccess>
}

export interface ToolContext {
  readonly signal: AbortSignal
  readonly progress: (metadata: JsonObject) => void
}

export interface ToolSuccess {
  readonly content: ToolContent[]
  readonly metadata: JsonObject
}

/** A call failed in a way that the model should read. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  /** `not_found`, `outside_location`, … */
  readonly kind: string
  readonly content: ToolContent[]
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

/** A result of one text. */
export function textOf(text: string, metadata: JsonObject = {}): ToolSuccess {
  return { content: [textContent(text)], metadata }
}

/** Whether a call was ended because its time is over: what it has found so far may be useful. */
export function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError'
}

/** JSON Schema of an object with exactly these members. */
export function objectSchema(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** JSON Schema of a path. */
export function pathSchema(description: string): JsonObject {
  // For the system a null character ends a path, so what is checked would not be what is opened.
  return { type: 'string', minLength: 1, maxLength: 4096, pattern: '^[^\\u0000]*$', description }
}

/** Time limit of tools that only read files or change one. */
export const FILE_TOOL_TIMEOUT_MS = 30_000
