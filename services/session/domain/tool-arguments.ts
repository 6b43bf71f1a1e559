import type { JsonObject } from './session.ts'

/** Deepest nesting of arguments: what is deeper does not fit through protobuf, with all that arguments lie in. */
const MAX_DEPTH = 24

/**
 * The arguments of a tool call; nothing at all means none, undefined that the text is not a JSON object, or is nested more
 * than 24 levels deep.
 */
export function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && !isDeeperThan(value, MAX_DEPTH) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1))
}
