import { isObject, type JsonObject, type JsonValue } from '#shared/json.ts'

/** The value if it is an object, else undefined. It must be parsed JSON. */
export function objectAt(value: unknown): JsonObject | undefined {
  return isObject(value) ? (value as JsonObject) : undefined
}

/** The value if it is an array, else an empty one. It must be parsed JSON. */
export function listAt(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

/** The value if it is a string, else an empty one. */
export function textAt(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The value if it is a non-empty string, else undefined. It must be parsed JSON. */
export function wordAt(value: unknown): string | undefined {
  return textAt(value) || undefined
}

/** The value if it is a string, JSON of it if it is an object, empty if it was left out, else undefined. */
export function argumentsAt(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return isObject(value) ? JSON.stringify(value) : missing(value)
}

/** An empty text if the value was left out, else undefined. */
function missing(value: unknown): '' | undefined {
  return value === undefined || value === null ? '' : undefined
}

/** The value if it is a number of tokens, else undefined. The meter decides whether it is plausible. */
export function countAt(value: unknown): bigint | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? BigInt(value) : undefined
}
