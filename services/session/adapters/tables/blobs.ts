import { defineTable, integer, optional, text } from '#shared/stores/table.ts'

/** A record of a message, of one of its parts or of an inbox item refers to a blob. */
export const blobUses = defineTable({
  name: 'blobUses',
  columns: { workspace: text(), message: text() },
  sqlite: {
    columns: { hash: text() },
    primaryKey: ['workspace', 'hash', 'message'],
    withoutRowid: true,
    indexes: { blobUsesByMessage: '(workspace, message)' },
  },
  mongo: {
    /** The key of the blob. */
    columns: { blob: text() },
    indexes: [
      { name: 'blobUsesByMessage', key: { workspace: 1, message: 1 } },
      { name: 'blobUsesByBlob', key: { blob: 1 } },
    ],
  },
})

/** Files of blobs that may be unused. */
export const looseBlobs = defineTable({
  name: 'looseBlobs',
  columns: { workspace: text(), hash: text() },
  sqlite: { primaryKey: ['workspace', 'hash'], withoutRowid: true },
})

/** Blobs in MongoDB; with `checkAt`, one may be unused. */
export const blobs = defineTable({
  name: 'blobs',
  columns: { checkAt: optional(integer()) },
  mongo: { indexes: [{ name: 'blobsToCheck', key: { checkAt: 1 }, sparse: true }] },
})

export interface BlobKey {
  readonly workspace: string
  readonly hash: string
}

const START = '"blob":{"hash":"'
const REFERENCE = /"blob":\{"hash":"([0-9a-f]{64})"/g

/**
 * Hashes of the blobs that the JSON of a record refers to. A text that only looks like a reference keeps a blob that is
 * not needed, which does no harm.
 */
export function hashesIn(json: string): string[] {
  if (!json.includes(START)) return []
  return [...new Set(Array.from(json.matchAll(REFERENCE), ([, hash]) => hash as string))]
}
