import type { BlobHold, BlobStore } from '#services/session/ports/blob-store.ts'
import { randomText } from '#shared/ids.ts'

/** Does work that puts content and then writes what refers to it: until it has ended, the content is held. */
export async function holdingBlobs<T>(
  blobs: Pick<BlobStore, 'release'>,
  work: (hold: BlobHold) => Promise<T>,
): Promise<T> {
  const hold: BlobHold = { id: randomText(12), held: [] }
  try {
    return await work(hold)
  } finally {
    // A hold that a store which is away keeps ends by itself.
    if (hold.held.length > 0) await blobs.release(hold).catch(() => {})
  }
}
