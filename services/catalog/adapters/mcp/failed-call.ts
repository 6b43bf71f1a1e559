import type { ToolOutcome } from '#services/catalog/ports/tools.ts'

const MAX_MESSAGE = 1_000

/** A failed call, for the model to read. */
export function failedCall(kind: string, message: string): ToolOutcome {
  return { type: 'failed', kind, message: message.toWellFormed().slice(0, MAX_MESSAGE), content: [], metadata: {} }
}

/** What an error says, for people; no more than fits a line or two. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).toWellFormed().slice(0, MAX_MESSAGE)
}
