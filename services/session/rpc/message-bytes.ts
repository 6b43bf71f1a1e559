/** What one list says and its files, in bytes: a response must stay below the 64 MiB of a message between processes. */
export const MAX_PAGE_BYTES = 40 * 1_048_576
/** What a value costs beside its name and what it says. */
const MEMBER_BYTES = 16

/** About as many bytes as a value takes in a message. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  let bytes = 0
  for (const [name, member] of Object.entries(value)) {
    bytes += Buffer.byteLength(name) + MEMBER_BYTES + bytesOf(member)
  }
  return bytes
}
