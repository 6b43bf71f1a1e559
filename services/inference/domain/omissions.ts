import type { Warning } from './generation.ts'

const MAX_MESSAGE = 500

/**
 * Warnings about what does not reach the model as it was meant, each once. More are added while the request is written.
 */
export class Omissions {
  readonly warnings: Warning[]

  /** `settings`: warnings known from the request alone. */
  constructor(settings: readonly Warning[] = []) {
    this.warnings = [...settings]
  }

  /** `field`: member of the request, as the proto names it. */
  add(field: string, message: string): void {
    const known = this.warnings.some((warning) => warning.field === field && warning.message === message)
    if (!known) this.warnings.push({ field, message: message.slice(0, MAX_MESSAGE) })
  }
}
