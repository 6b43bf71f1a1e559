import type { BlobRef } from '../domain/message.ts'

/**
 * So long content is held when nobody ends that, in milliseconds: whoever put it may be another process than the one that ended what it was
 * for. What comes in one request is there within five minutes.
 */
export const HELD_MS = 600_000

/** Somebody who has put content and has not yet written what refers to it; see `holdingBlobs`. */
export interface BlobHold {
  readonly id: string
  /** What is held. */
  readonly held: { readonly workspace: string; readonly hash: string }[]
}

/**
 * Content by hash, per workspace. It is never changed, and goes with the last record that refers to it: what a message, an
 * inbox item or a part of the session store refers to is in use from the transaction on that writes it, until the one that
 * deletes it. What is on its way into such a record is held.
 */
export interface BlobStore extends AsyncDisposable {
  /**
   * Keeps content of at most 20 MiB; resolves after it is durable. The same content again is no second copy. It is held until
   * the hold is released, but for `HELD_MS` at most.
   */
  put(workspace: string, data: Uint8Array, hold: BlobHold): Promise<BlobRef>
  /** Ends a hold; what it held and nobody uses may be deleted. */
  release(hold: BlobHold): Promise<void>
  /** The content, or undefined when the workspace has none with that hash. */
  get(workspace: string, hash: string): Promise<Uint8Array | undefined>
  /**
   * Deletes content that is neither in use nor held, at most 20 blobs at once. Returns whether there may be more. Others may do
   * so at the same time.
   */
  sweep(): Promise<boolean>
}
