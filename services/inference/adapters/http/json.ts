import { isObject, type JsonObject, type JsonValue } from '#shared/json.ts'
import { unavailable } from './provider-errors.ts'

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

/** The arguments of a call: a text, or the JSON of an object; empty if there are none. */
export function argumentsAt(providerId: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (isObject(value)) return JSON.stringify(value)
  if (value === undefined || value === null) return ''
  throw unavailable(providerId, 'It sent arguments that are neither text nor an object')
}

/** Whether the value is an object without members. It must be parsed JSON. */
export function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0
}

/** The value if it is a number of tokens, else undefined. The meter decides whether it is plausible. */
export function countAt(value: unknown): bigint | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? BigInt(value) : undefined
}

/** The blocks of a message. Some servers send a text as it is. */
export function blocksOf(providerId: string, content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  throw unavailable(providerId, 'It sent a content that is neither text nor a list')
}
