import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type FileAttachment, FileAttachmentSchema, PromptSchema } from '#gen/portico/session/v1/session_pb.js'
import type { BlobHold, BlobStore } from '#services/session/ports/blob-store.ts'
import { holdingBlobs } from '#services/session/run/lifetime/holding-blobs.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { admission } from './session-store.support.ts'

export const W = 'wrk_one'
/** How long content is held before something uses it, in milliseconds. */
export const PAUSE_MS = 3

/** An empty blob store. */
export interface BlobFixture extends AsyncDisposable {
  readonly store: BlobStore
  /** The sessions that refer to its content. */
  readonly sessions: UseCases
  /** Another store on the same content. */
  reopen(): Promise<BlobStore>
}

/** A hold on nothing yet. */
export function newHold(): BlobHold {
  return { id: `hold_${Math.random()}`, held: [] }
}

/** A file that a message refers to. */
export function fileOf(blob: BlobRef): FileAttachment {
  return create(FileAttachmentSchema, { source: { case: 'blob', value: blob }, mime: 'text/plain' })
}

/** Admits a prompt with a file, as the service does. */
export async function promptWith(
  { store, sessions }: BlobFixture,
  sessionId: string,
  id: string,
  data: Buffer,
): Promise<string> {
  return holdingBlobs(store, async (hold) => {
    const blob = await store.put(W, data, hold)
    await delay(PAUSE_MS)
    const prompt = create(PromptSchema, { files: [fileOf(blob)] })
    await sessions.admit(W, admission(id, { sessionId, prompt }))
    return blob.hash
  })
}

/** Deletes everything that is neither used nor held. */
export async function sweepAll({ store }: BlobFixture): Promise<void> {
  while (await store.sweep());
}
