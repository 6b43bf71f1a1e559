import type { JsonObject } from './session.ts'

/** The arguments of a tool call; nothing at all means none, undefined that the text is no JSON object. */
export function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
