/** A JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

/** A JSON object; assignable to protobuf's Struct, and vice versa. */
export type JsonObject = { [name: string]: JsonValue }

/** Whether a value is an object, but neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a parsed value is JSON at every level: YAML also has dates, and numbers that JSON lacks. */
export function isJson(value: unknown): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return value.every(isJson)
  if (typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return false
  return Object.values(value).every(isJson)
}
