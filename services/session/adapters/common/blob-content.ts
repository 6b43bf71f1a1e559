import { createHash } from 'node:crypto'
import type { BlobRef } from '#services/session/domain/message.ts'

const MAX_BYTES = 20 * 1024 * 1024

/** Names content by its SHA-256. More than 20 MiB is a bug of the caller, who has limits of its own: RangeError. */
export function refOf(data: Uint8Array): BlobRef {
  if (data.byteLength > MAX_BYTES) throw new RangeError(`A blob of ${data.byteLength} bytes is more than ${MAX_BYTES}`)
  return { hash: createHash('sha256').update(data).digest('hex'), size: data.byteLength }
}

/** Whether a text can be the hash of a blob. */
export function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}
