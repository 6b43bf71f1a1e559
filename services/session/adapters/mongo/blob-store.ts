import type { Binary, Collection } from 'mongodb'
import type { BlobRef } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { isHash, refOf } from '../common/blob-content.ts'
import { keyOf } from './collections.ts'

/** Well below the server's limit of 16 MiB for a document. */
const CHUNK_BYTES = 8 * 1024 * 1024

interface BlobDocument {
  readonly _id: string
  readonly size: number
}

interface ChunkDocument {
  readonly _id: string
  readonly data: Binary | Uint8Array
}

/**
 * Blobs in MongoDB: chunks, and a document that is written after them and says that they are complete. What is written
 * twice is the same, so callers need not know of each other. Disposing the store leaves the connection open.
 */
export function openMongoBlobStore(options: { readonly mongo: Mongo }): BlobStore {
  const { db } = options.mongo
  return new MongoBlobStore(db.collection('blobs'), db.collection('blobChunks'))
}

class MongoBlobStore implements BlobStore {
  readonly #blobs: Collection<BlobDocument>
  readonly #chunks: Collection<ChunkDocument>

  constructor(blobs: Collection<BlobDocument>, chunks: Collection<ChunkDocument>) {
    this.#blobs = blobs
    this.#chunks = chunks
  }

  async put(workspace: string, data: Uint8Array): Promise<BlobRef> {
    const ref = refOf(data)
    const _id = keyOf(workspace, ref.hash)
    if ((await this.#find(_id)) !== null) return ref
    for (const [i, id] of chunkIds(_id, ref.size).entries()) {
      const chunk = Buffer.from(data.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES))
      await this.#chunks.updateOne(
        { _id: id },
        { $setOnInsert: { data: chunk } },
        { upsert: true, maxTimeMS: MAX_TIME_MS },
      )
    }
    await this.#blobs.updateOne({ _id }, { $setOnInsert: { size: ref.size } }, { upsert: true, maxTimeMS: MAX_TIME_MS })
    return ref
  }

  async get(workspace: string, hash: string): Promise<Uint8Array | undefined> {
    if (!isHash(hash)) return undefined
    const _id = keyOf(workspace, hash)
    const blob = await this.#find(_id)
    if (blob === null) return undefined
    const ids = chunkIds(_id, blob.size)
    const filter = { _id: { $in: ids } }
    const cursor = this.#chunks.find<{ data: Uint8Array }>(filter, {
      sort: { _id: 1 },
      promoteBuffers: true,
      maxTimeMS: MAX_TIME_MS,
    })
    return Buffer.concat(
      (await cursor.toArray()).map(({ data }) => data),
      blob.size,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #find(_id: string): Promise<BlobDocument | null> {
    return this.#blobs.findOne({ _id }, { maxTimeMS: MAX_TIME_MS })
  }
}

/** At most three, so that they sort as texts. */
function chunkIds(key: string, size: number): string[] {
  return Array.from({ length: Math.ceil(size / CHUNK_BYTES) }, (_, i) => `${key}/${i}`)
}
