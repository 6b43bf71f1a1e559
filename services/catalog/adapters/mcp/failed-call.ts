import { failed, type ToolOutcome } from '#services/catalog/domain/tool-outcome.ts'

const MAX_MESSAGE = 1_000

/** A failed call, for the model. */
export function failedCall(kind: string, message: string): ToolOutcome {
  return failed(kind, cut(message))
}

/** The message of an error, for people, shortened to a line or two. */
export function messageOf(error: unknown): string {
  return cut(error instanceof Error ? error.message : String(error))
}

function cut(message: string): string {
  return message.slice(0, MAX_MESSAGE).toWellFormed()
}
