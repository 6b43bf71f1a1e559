import type { ClientSession } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { hashesIn } from '../tables/blobs.ts'
import { type BlobUse, type Collections, keyOf, type Table } from './collections.ts'

/** The blobs that a record uses, according to its JSON. */
export function blobUses(workspace: string, message: string, json: string): BlobUse[] {
  return hashesIn(json).map((hash) => {
    return { _id: `${keyOf(workspace, message)}/${hash}`, workspace, message, blob: keyOf(workspace, hash) }
  })
}

/** The operations that delete the documents under a message's id; the blobs that these used may then be unused. */
export async function evictions(
  { blobUses: uses }: Collections,
  workspace: string,
  message: string,
  session: ClientSession,
): Promise<(readonly [Table, object])[]> {
  const own = { workspace, message }
  const deletion = { deleteOne: { filter: { _id: keyOf(workspace, message) } } }
  const used = await uses.find(own, { session, maxTimeMS: MAX_TIME_MS }).toArray()
  return [
    ['inbox', deletion],
    ['messages', deletion],
    ['parts', { deleteMany: { filter: own } }],
    ...used.flatMap(({ _id, blob }) => [
      ['blobUses', { deleteOne: { filter: { _id } } }] as const,
      ['blobs', { updateOne: { filter: { _id: blob }, update: { $set: { checkAt: 0 } } } }] as const,
    ]),
  ]
}
