import { hashesIn } from '#services/session/adapters/common/blob-uses.ts'
import { keyOf } from '../collections.ts'

/** A record of a message, of one of its parts or of an inbox item refers to a blob. */
export interface BlobUse {
  /** Workspace, message and hash. */
  readonly _id: string
  readonly workspace: string
  readonly message: string
  /** Key of the blob. */
  readonly blob: string
}

/** What a record uses, by its JSON. */
export function blobUses(workspace: string, message: string, json: string): BlobUse[] {
  return hashesIn(json).map((hash) => {
    return { _id: `${keyOf(workspace, message)}/${hash}`, workspace, message, blob: keyOf(workspace, hash) }
  })
}
