import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { BlobRef } from '#services/session/domain/message.ts'

const MAX_BYTES = 20 * 1024 * 1024

/** Names content by its SHA-256. More than 20 MiB is a bug of the caller, who has limits of its own: RangeError. */
export function refOf(data: Uint8Array): BlobRef {
  if (data.byteLength > MAX_BYTES) throw new RangeError(`A blob of ${data.byteLength} bytes is more than ${MAX_BYTES}`)
  return { hash: createHash('sha256').update(data).digest('hex'), size: data.byteLength }
}

/** So much is hashed in one turn of the event loop: about a millisecond. */
const HASHED = 1024 * 1024

/** The hash of content. Others go on in between. */
export async function hashOf(data: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < data.length; at += HASHED) {
    if (at > 0) await setImmediate()
    hash.update(data.subarray(at, at + HASHED))
  }
  return hash.digest('hex')
}

/** Whether a text can be the hash of a blob. */
export function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}
