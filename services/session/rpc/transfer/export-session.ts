import { create, toBinary } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { isSettled, type StoredMessage } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { BY_HASH, blobsOf } from '../blob-contents.ts'
import { messageToProto } from '../message/message-to-proto.ts'
import { sessionNotFound } from '../session/get-session.ts'
import { sessionToProto } from '../session/session-to-proto.ts'

/** So many messages are read at once: few, since one may be as large as a megabyte. */
const PAGE = 20
/** Content goes in pieces of so many bytes, whole groups of base64. */
const PIECE = 786_432

/**
 * Streams a session and its settled messages, each followed by the content of its files. Before anything is sent, every message is read
 * once and encoded, so that one that cannot be read rejects the call as a whole.
 */
export function exportSession({
  store,
  blobs,
}: {
  readonly store: SessionStore
  readonly blobs: BlobStore
}): ServiceImpl<typeof SessionService>['exportSession'] {
  return async function* ({ sessionId, withoutContent }, context) {
    const { workspaceId: workspace } = principalOf(context)
    const session = await store.getSession(workspace, sessionId)
    if (session === undefined) throw sessionNotFound(sessionId)
    let last = 0
    for await (const stored of settled(store, workspace, sessionId)) {
      toBinary(MessageSchema, toMessage(stored))
      last = stored.seq
    }
    yield { item: { case: 'session', value: sessionToProto(session) } }
    for await (const stored of settled(store, workspace, sessionId)) {
      if (stored.seq > last) break
      yield { item: { case: 'message', value: toMessage(stored) } }
      if (withoutContent) continue
      for (const { hash } of blobsOf(stored.message)) {
        const content = await blobs.get(workspace, hash)
        if (content === undefined) throw new Error(`Blob ${hash} is missing`)
        for (const value of pieces(content)) yield { item: { case: 'content', value } }
      }
    }
  }
}

async function* settled(store: SessionStore, workspace: string, sessionId: string): AsyncGenerator<StoredMessage> {
  let seq = 0
  for (;;) {
    const anchor = { seq, direction: 'next' } as const
    const page = await store.listMessages(workspace, sessionId, { limit: PAGE, order: 'ascending', anchor })
    if (page === undefined) throw sessionNotFound(sessionId)
    yield* page.items.filter(({ message }) => isSettled(message))
    if (!page.more) return
    seq = page.items.at(-1)?.seq ?? seq
    await ownTurn()
  }
}

function toMessage({ message }: StoredMessage) {
  const init = messageToProto(message, BY_HASH)
  if (init.kind === undefined) throw new Error(`Message ${message.id} is of a kind that this version does not know`)
  return create(MessageSchema, init)
}

function* pieces(content: Uint8Array) {
  for (let at = 0; at === 0 || at < content.length; at += PIECE) {
    const data = content.subarray(at, at + PIECE) as Uint8Array<ArrayBuffer>
    yield { data, last: at + PIECE >= content.length }
  }
}
