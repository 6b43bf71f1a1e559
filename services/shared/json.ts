/** A JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

/** A JSON object; assignable to protobuf's Struct, and vice versa. */
export type JsonObject = { [name: string]: JsonValue }

/** Whether a value is an object, but neither null nor an array. */
export function isObject(value: JsonValue | undefined): value is JsonObject
export function isObject(value: unknown): value is Record<string, unknown>
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of a value that may be no object, and then has none. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** The items of a value that may be no list, and then has none. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The object that a text is the JSON of; undefined: it is none. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: JsonValue = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Deepest nesting of free-form JSON that services exchange: protobuf allows 100 of its own levels, of which three are
 * one level here, and messages and events are around it.
 */
export const MAX_LEVELS = 24

/** Whether objects and arrays are nested more deeply than that. */
export function isDeeperThan(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1))
}

/** Whether a parsed value is a JSON object that services can exchange. */
export function isFreeObject(value: unknown): value is JsonObject {
  return isObject(value) && !isDeeperThan(value) && isJson(value)
}

/** Whether a parsed value is JSON at every level: YAML also has dates, and numbers that JSON lacks. */
export function isJson(value: unknown): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return value.every(isJson)
  if (typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return false
  return Object.values(value).every(isJson)
}
