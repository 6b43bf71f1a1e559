import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type BlobKey, hashesIn } from '../tables/blobs.ts'

const USE = 'INSERT OR IGNORE INTO blobUses (workspace, hash, message) VALUES (?, ?, ?)'
const LOOSE = 'INSERT OR IGNORE INTO looseBlobs (workspace, hash)'
const FORGET = 'DELETE FROM looseBlobs WHERE workspace = ? AND hash = ?'
const OF_MESSAGE = 'FROM blobUses WHERE workspace = ? AND message = ?'
const USED = 'SELECT 1 FROM blobUses WHERE workspace = ? AND hash = ? LIMIT 1'

/** Records which blobs the record of a message, of one of its parts or of an inbox item uses; to be called in a job. */
export function useBlobs(file: SqliteFile, workspace: string, message: string, json: string): void {
  for (const hash of hashesIn(json)) file.statement(USE).run(workspace, hash, message)
}

/** Records that a message uses no blobs any more; to be called in a job. */
export function releaseBlobs(file: SqliteFile, workspace: string, message: string): void {
  file.statement(`${LOOSE} SELECT workspace, hash ${OF_MESSAGE}`).run(workspace, message)
  file.statement(`DELETE ${OF_MESSAGE}`).run(workspace, message)
}

/** Which blobs are in use, and which may be unused (`looseBlobs`). */
export class BlobUses {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  isUsed({ workspace, hash }: BlobKey): boolean {
    return this.#file.statement(USED).get(workspace, hash) !== undefined
  }

  /** Notes that a blob may be unused. */
  async note({ workspace, hash }: BlobKey): Promise<void> {
    await this.#file.write(() => this.#file.statement(`${LOOSE} VALUES (?, ?)`).run(workspace, hash))
  }

  /** Blobs that may be unused, after one of them. */
  loose(after: BlobKey | undefined, limit: number): BlobKey[] {
    const sql =
      'SELECT workspace, hash FROM looseBlobs WHERE (workspace, hash) > (?, ?) ORDER BY workspace, hash LIMIT ?'
    return this.#file.statement(sql).all(after?.workspace ?? '', after?.hash ?? '', limit) as unknown as BlobKey[]
  }

  /** Removes those that are in use from the loose blobs; returns the others. */
  async settle(keys: readonly BlobKey[]): Promise<readonly BlobKey[]> {
    const used = keys.filter((key) => this.isUsed(key))
    if (used.length > 0) {
      await this.#file.write(() => {
        for (const { workspace, hash } of used) {
          this.#file.statement(`${FORGET} AND EXISTS (${USED})`).run(workspace, hash, workspace, hash)
        }
      })
    }
    return keys.filter((key) => !used.includes(key))
  }

  /** Removes a blob from the loose ones after it was deleted. */
  async forget({ workspace, hash }: BlobKey): Promise<void> {
    await this.#file.write(() => this.#file.statement(FORGET).run(workspace, hash))
  }
}
