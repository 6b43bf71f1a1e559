import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'

/**
 * How long a hold lasts if it is not released, in milliseconds: content may be put by one process and released by
 * another. The content of one request arrives within five minutes.
 */
export const HELD_MS = 600_000

/** Holds content that was put until the record that refers to it is written; see `holdingBlobs`. */
export interface BlobHold {
  readonly id: string
  readonly held: { readonly workspace: string; readonly hash: string }[]
}

/**
 * Content by hash, per workspace. It never changes, and is deleted with the last record that refers to it: content that
 * a message, an inbox item or a part refers to is in use from the transaction that writes the record until the one that
 * deletes it. Until such a record is written, its content is held.
 */
export interface BlobStore extends AsyncDisposable {
  /**
   * Keeps content of at most 20 MiB; resolves after it is durable. The same content is stored only once. It is held
   * until the hold is released, but at most for `HELD_MS`.
   */
  put(workspace: string, data: Uint8Array, hold: BlobHold): Promise<BlobRef>
  /** Releases a hold; content that it held and nothing uses may be deleted. */
  release(hold: BlobHold): Promise<void>
  /** The content, or undefined when the workspace has none with that hash, or none that is intact. */
  get(workspace: string, hash: string): Promise<Uint8Array | undefined>
  /** Whether the workspace has content with that hash; it is not read, and may be damaged. */
  has(workspace: string, hash: string): Promise<boolean>
  /**
   * Deletes content that is neither in use nor held, at most 20 blobs at once. Returns whether there may be more.
   * Others may do so at the same time.
   */
  sweep(): Promise<boolean>
}
