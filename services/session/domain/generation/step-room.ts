import type { ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AssistantPart, StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { jsonBytesOf, MAX_MESSAGE_BYTES } from '../message-size.ts'
import { structuredError } from '../structured-error.ts'
import { textResult } from './call-outcome.ts'

/** Most bytes, as JSON, that a model may say in one step. */
const MOST_SAID = 5 * 1_048_576
/**
 * And together with the results of its tools. The limit leaves room for the longer member names of an export, so that
 * it can be imported.
 */
const MOST_BYTES = MAX_MESSAGE_BYTES - 1_048_576
const LEFT_OUT = textResult('The result was left out: the step has no room for it')

/** How much a step may still grow and remain a message that can be read in one go. */
export class StepRoom {
  readonly #mostParts: number
  #parts: number
  #bytes: number
  #problem: StructuredError | undefined

  /** `parts`: its existing parts. */
  constructor(mostParts: number, parts: readonly AssistantPart[] = []) {
    this.#mostParts = mostParts
    this.#parts = parts.length
    this.#bytes = parts.length === 0 ? 0 : jsonBytesOf(parts)
  }

  /** What is wrong with an answer that is too large. */
  get problem(): StructuredError | undefined {
    return this.#problem
  }

  takePart(): boolean {
    if (this.#parts === this.#mostParts) return this.#refuse(`more than ${this.#mostParts} parts`)
    this.#parts++
    return true
  }

  /** Whether there is room for more of what a model says in such a part, beyond what was taken before. */
  takeSaid(part: AssistantPart['part']['case'], value: unknown, before: unknown = undefined): boolean {
    // The arguments of a call are kept as the model wrote them, and as an object.
    const times = part === 'tool' ? 2 : 1
    const bytes = Math.max(0, jsonBytesOf(value) - jsonBytesOf(before)) * times
    if (this.#bytes + bytes > MOST_SAID) return this.#refuse(`more than ${MOST_SAID} bytes`)
    this.#bytes += bytes
    return true
  }

  /** The part of a tool's result that is kept. */
  takeResult<T extends { readonly content: readonly ToolContent[]; readonly metadata: unknown }>(result: T): T {
    const bytes = jsonBytesOf(result.content) + jsonBytesOf(result.metadata)
    if (this.#bytes + bytes > MOST_BYTES) {
      return { ...result, content: [LEFT_OUT], metadata: undefined }
    }
    this.#bytes += bytes
    return result
  }

  #refuse(problem: string): false {
    this.#problem = structuredError('provider.answer_too_large', `The provider's answer has ${problem}`)
    return false
  }
}
