import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { type BlobRef, BlobRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'

const MAX_BYTES = 20 * 1024 * 1024

/** Names content by its SHA-256. Throws RangeError for more than 20 MiB: callers have limits of their own. */
export function refOf(data: Uint8Array): BlobRef {
  if (data.byteLength > MAX_BYTES) throw new RangeError(`A blob of ${data.byteLength} bytes is more than ${MAX_BYTES}`)
  return create(BlobRefSchema, { hash: createHash('sha256').update(data).digest('hex'), size: data.byteLength })
}

/** How many bytes to hash in one turn of the event loop, which takes about a millisecond. */
const HASHED = 1024 * 1024

/** The hash of content. The event loop turns in between. */
export async function hashOf(data: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < data.length; at += HASHED) {
    if (at > 0) await setImmediate()
    hash.update(data.subarray(at, at + HASHED))
  }
  return hash.digest('hex')
}

export function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}
