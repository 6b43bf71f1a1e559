import { toBinary } from '@bufbuild/protobuf'
import { MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import { blobsOf, type StoredMessage } from '../domain/message.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { SessionKey } from '../ports/lease.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { sessionNotFound } from '../ports/session-store.ts'
import { missingBlob } from './blob-contents.ts'

/** The size of a piece of content, in bytes: whole groups of base64. */
const PIECE = 786_432

interface Stores {
  readonly store: Pick<SessionStore, 'getMessage'>
  readonly blobs: Pick<BlobStore, 'get' | 'has'>
}

/** Rejects if a message cannot be sent, or if its files are known to be missing without reading them. */
export async function checkReadable(stores: Stores, key: SessionKey, stored: StoredMessage, withoutContent = false) {
  toBinary(MessageSchema, stored.message)
  if (withoutContent) return
  for (const { hash } of blobsOf(stored.message)) {
    if (!(await stores.blobs.has(key.workspace, hash))) await rejectMissing(stores, key, stored, hash)
  }
}

/**
 * The content of the files of a message, in order and in pieces. Rejects with SESSION_NOT_FOUND when it is gone with
 * its session.
 */
export async function* readContent(stores: Stores, key: SessionKey, stored: StoredMessage) {
  for (const { hash } of blobsOf(stored.message)) {
    yield* pieces((await stores.blobs.get(key.workspace, hash)) ?? (await rejectMissing(stores, key, stored, hash)))
  }
}

async function rejectMissing(
  { store }: Stores,
  key: SessionKey,
  { message }: StoredMessage,
  hash: string,
): Promise<never> {
  const { workspace, sessionId } = key
  if ((await store.getMessage(workspace, sessionId, message.messageId)) === undefined) throw sessionNotFound(sessionId)
  throw missingBlob(key, hash)
}

function* pieces(content: Uint8Array) {
  for (let at = 0; at === 0 || at < content.length; at += PIECE) {
    const data = content.subarray(at, at + PIECE) as Uint8Array<ArrayBuffer>
    yield { data, last: at + PIECE >= content.length }
  }
}
