import { isObject } from '#shared/json.ts'

/** A JSON object from outside: nothing is known about its members. */
export type Json = { readonly [name: string]: unknown }

/** The value when it is an object, else undefined. */
export function objectAt(value: unknown): Json | undefined {
  return isObject(value) ? value : undefined
}

/** The value when it is a list, else an empty one. */
export function listAt(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The value when it is a text, else an empty one. */
export function textAt(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The value when it is a number of tokens, else undefined. */
export function countAt(value: unknown): bigint | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
}
