import type { Binary, Collection } from 'mongodb'
import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type BlobHold, type BlobStore, HELD_MS } from '#services/session/ports/blob-store.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { isHash, refOf } from '../common/blob-content.ts'
import { keyOf, SERVER_NOW } from './collections.ts'

/** Well below the server's limit of 16 MiB for a document. */
const CHUNK_BYTES = 8 * 1024 * 1024
/** Writing the largest blob takes a second or so. */
const PUT_MS = 15_000
/** How many blobs to delete at once. */
const SWEPT = 20
/** How many blobs to release at once: a command has at most 16 MiB. */
const RELEASED = 1_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

interface BlobDocument {
  readonly _id: string
  readonly size: number
  /** Who holds it, and until when, by the server's clock. */
  readonly holds?: readonly { readonly id: string; readonly until: number }[]
  /** From when on somebody has to check whether it is used; absent: it is used. */
  readonly checkAt?: number
}

interface ChunkDocument {
  readonly _id: string
  readonly data: Binary | Uint8Array
}

/**
 * Blobs in MongoDB: chunks, and a document that says that they are complete; both are written, and deleted, in one
 * transaction. Whoever holds a blob, begins to use it while nobody holds it, or stops using it also writes its
 * document, so that the server does not let that and a deletion happen at the same time. Disposing the store leaves the
 * connection open.
 */
export function openMongoBlobStore(options: { readonly mongo: Mongo }): BlobStore {
  return new MongoBlobStore(options.mongo)
}

class MongoBlobStore implements BlobStore {
  readonly #mongo: Mongo
  readonly #blobs: Collection<BlobDocument>
  readonly #chunks: Collection<ChunkDocument>
  readonly #uses: Collection<{ readonly _id: string; readonly blob: string }>

  constructor(mongo: Mongo) {
    this.#mongo = mongo
    this.#blobs = mongo.db.collection('blobs')
    this.#chunks = mongo.db.collection('blobChunks')
    this.#uses = mongo.db.collection('blobUses')
  }

  async put(workspace: string, data: Uint8Array, hold: BlobHold): Promise<BlobRef> {
    const ref = refOf(data)
    const _id = keyOf(workspace, ref.hash)
    await this.#mongo.transact(async (session) => {
      const options = { ...LIMIT, session }
      if ((await this.#blobs.findOne({ _id }, { ...options, projection: { _id: 1 } })) === null) {
        for (const [i, id] of chunkIds(_id, ref.size).entries()) {
          const { buffer, byteOffset, length } = data.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES)
          // The same bytes, not a copy.
          const chunk = Buffer.from(buffer, byteOffset, length)
          await this.#chunks.replaceOne({ _id: id }, { data: chunk }, { upsert: true, ...options })
        }
        await this.#blobs.insertOne({ _id, size: ref.size }, options)
      }
      const until = { $add: [SERVER_NOW, HELD_MS] }
      const holds = { $concatArrays: [{ $ifNull: ['$holds', []] }, [{ id: hold.id, until }]] }
      await this.#blobs.updateOne({ _id }, [{ $set: { holds, checkAt: until } }], options)
    }, PUT_MS)
    hold.held.push({ workspace, hash: ref.hash })
    return ref
  }

  async release({ id, held }: BlobHold): Promise<void> {
    const update = { $pull: { holds: { id } }, $set: { checkAt: 0 } }
    while (held.length > 0) {
      const keys = held.slice(-RELEASED).map(({ workspace, hash }) => keyOf(workspace, hash))
      await this.#blobs.updateMany({ _id: { $in: keys } }, update, LIMIT)
      held.length -= keys.length
    }
  }

  async sweep(): Promise<boolean> {
    const due = { checkAt: { $gte: 0 }, $expr: { $lte: ['$checkAt', SERVER_NOW] } }
    const options = { ...LIMIT, projection: { _id: 1 }, sort: { checkAt: 1 }, limit: SWEPT } as const
    const blobs = await this.#blobs.find(due, options).toArray()
    for (const { _id } of blobs) await this.#sweep(_id, due)
    return blobs.length === SWEPT
  }

  async #sweep(_id: string, due: object): Promise<void> {
    await this.#mongo.transact(async (session) => {
      const options = { ...LIMIT, session }
      const live = {
        $filter: { input: { $ifNull: ['$holds', []] }, cond: { $gt: ['$$this.until', SERVER_NOW] } },
      }
      const blob = await this.#blobs.findOneAndUpdate({ _id, ...due }, [{ $set: { holds: live } }], {
        ...options,
        returnDocument: 'after',
      })
      if (blob === null) return
      const { holds = [], size } = blob
      if ((await this.#uses.findOne({ blob: _id }, options)) !== null) {
        await this.#blobs.updateOne({ _id }, { $unset: { checkAt: 1 } }, options)
      } else if (holds.length > 0) {
        const checkAt = holds.reduce((first, { until }) => Math.min(first, until), Number.POSITIVE_INFINITY)
        await this.#blobs.updateOne({ _id }, { $set: { checkAt } }, options)
      } else {
        await this.#blobs.deleteOne({ _id }, options)
        await this.#chunks.deleteMany({ _id: { $in: chunkIds(_id, size) } }, options)
      }
    })
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
    const content = Buffer.concat((await cursor.toArray()).map(({ data }) => data))
    // It may have been deleted in the meantime.
    return content.length === blob.size ? content : undefined
  }

  async has(workspace: string, hash: string): Promise<boolean> {
    return isHash(hash) && (await this.#find(keyOf(workspace, hash))) !== null
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
