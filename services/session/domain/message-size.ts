/**
 * Most bytes of a message as JSON, beside its files: each step from the wire to the store, and back, has all of it at
 * one go, and none is to keep others waiting for more than 50 ms (`bench/large-messages.ts`). The longest prompt, all
 * of it control characters, is smaller.
 */
export const MAX_MESSAGE_BYTES = 6.5 * 1_048_576
/** The overhead of a value besides its name and content. */
const MEMBER_BYTES = 16
/** How many bytes JSON needs at most for one byte of a text. */
const ESCAPE_BYTES = 6

/** The name of a message's type. It is short, since free data may contain the like. */
const TYPE_NAME = /^portico\.[\w.]{1,60}$/

/** The approximate size of a value in a message, in bytes; names of types do not count. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  let bytes = 0
  for (const [name, member] of Object.entries(value)) {
    if (name !== '$typeName' || typeof member !== 'string' || !TYPE_NAME.test(member)) {
      bytes += Buffer.byteLength(name) + MEMBER_BYTES + bytesOf(member)
    }
  }
  return bytes
}

/** Whether a value has at most so many bytes as JSON. */
export function fitsAsJson(value: unknown, bytes: number): boolean {
  return bytesOf(value) * ESCAPE_BYTES <= bytes || jsonBytesOf(value) <= bytes
}

/** How many bytes a value has as JSON, with the names of types; 0: undefined. */
export function jsonBytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value, typeof value === 'object' ? asJson : undefined) ?? '')
}

/** Money as text, since JSON has no int64. */
function asJson(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
