import type { Warning } from '#gen/portico/inference/v1/inference_pb.js'
import { MAX_WARNINGS, warningOf } from './left-out.ts'

const MAX_MESSAGE = 500

/**
 * Warnings about what does not reach the model as it was meant, each once. More are added while the request is written.
 */
export class Omissions {
  readonly warnings: Warning[]
  readonly #known: Set<string>
  #ofConversation = 0

  /** `settings`: warnings known from the request alone. */
  constructor(settings: readonly Warning[] = []) {
    this.warnings = [...settings]
    this.#known = new Set(settings.map(keyOf))
  }

  /** `field`: member of the request, as the proto names it. */
  add(field: string, message: string): void {
    const isOfConversation = field.startsWith('messages')
    if (isOfConversation && this.#ofConversation >= MAX_WARNINGS) return
    const warning = warningOf(field, message.slice(0, MAX_MESSAGE))
    const key = keyOf(warning)
    if (this.#known.has(key)) return
    this.#known.add(key)
    this.warnings.push(warning)
    if (isOfConversation) this.#ofConversation += 1
  }
}

function keyOf({ field, message }: Warning): string {
  return `${field}\n${message}`
}
