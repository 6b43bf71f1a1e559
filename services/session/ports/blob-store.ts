import type { BlobRef } from '../domain/message.ts'

/** Content by hash, per workspace. Nothing is ever changed or, so far, deleted. */
export interface BlobStore extends AsyncDisposable {
  /** Keeps content of at most 20 MiB; resolves after it is durable. The same content again is no second copy. */
  put(workspace: string, data: Uint8Array): Promise<BlobRef>
  /** The content, or undefined when the workspace has none with that hash. */
  get(workspace: string, hash: string): Promise<Uint8Array | undefined>
}
