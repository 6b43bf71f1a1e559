import { isObject, type JsonObject, type JsonValue } from '#shared/json.ts'

/** The value when it is an object, else undefined. It has to be parsed JSON. */
export function objectAt(value: unknown): JsonObject | undefined {
  return isObject(value) ? (value as JsonObject) : undefined
}

/** The value when it is a list, else an empty one. It has to be parsed JSON. */
export function listAt(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

/** The value when it is a text, else an empty one. */
export function textAt(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The value when it is a text with something in it, else undefined. It has to be parsed JSON. */
export function wordAt(value: unknown): string | undefined {
  return textAt(value) || undefined
}

/** The value when it is a number of tokens, else undefined. Whether one can be true is for the meter to say. */
export function countAt(value: unknown): bigint | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? BigInt(value) : undefined
}
