import { create, toBinary } from '@bufbuild/protobuf'
import { type Message as MessageProto, MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { BY_HASH, blobsOf, missingBlob } from '../blob-contents.ts'
import { messageToProto } from './message-to-proto.ts'

/** Content goes in pieces of so many bytes, whole groups of base64. */
const PIECE = 786_432

/** A message whose files name their content. */
export function toMessage({ message }: StoredMessage): MessageProto {
  const init = messageToProto(message, BY_HASH)
  if (init.kind === undefined) throw new Error(`Message ${message.id} has a kind that this version does not know`)
  return create(MessageSchema, init)
}

/** Throws when a message cannot be sent. */
export function checkReadable(stored: StoredMessage): void {
  toBinary(MessageSchema, toMessage(stored))
}

/**
 * The content of the files of a message, in order and in pieces. Rejects with SESSION_NOT_FOUND when it is gone with
 * its session.
 */
export async function* readContent(
  { store, blobs }: { readonly store: Pick<SessionStore, 'getMessage'>; readonly blobs: Pick<BlobStore, 'get'> },
  workspace: string,
  sessionId: string,
  { message }: StoredMessage,
) {
  for (const { hash } of blobsOf(message)) {
    const content = await blobs.get(workspace, hash)
    if (content !== undefined) yield* pieces(content)
    else if ((await store.getMessage(workspace, sessionId, message.id)) === undefined) throw sessionNotFound(sessionId)
    else throw missingBlob(hash)
  }
}

function* pieces(content: Uint8Array) {
  for (let at = 0; at === 0 || at < content.length; at += PIECE) {
    const data = content.subarray(at, at + PIECE) as Uint8Array<ArrayBuffer>
    yield { data, last: at + PIECE >= content.length }
  }
}
