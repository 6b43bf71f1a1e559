import type { BlobHold, BlobStore } from '#services/session/ports/blob-store.ts'
import { randomText } from '#shared/ids.ts'

/**
 * Runs work that puts content and then writes records that refer to it; the content is held until the work has ended.
 */
export async function holdingBlobs<T>(
  blobs: Pick<BlobStore, 'release'>,
  work: (hold: BlobHold) => Promise<T>,
): Promise<T> {
  const hold: BlobHold = { id: randomText(12), held: [] }
  try {
    return await work(hold)
  } finally {
    // A hold that cannot be released, because the store is unavailable, expires by itself.
    if (hold.held.length > 0) await blobs.release(hold).catch(() => {})
  }
}
