import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Message as MessageProto, MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { importedSession } from '#services/session/domain/lifetime/imported-session.ts'
import { bytesOf } from '#services/session/domain/message/size.ts'
import type { Message } from '#services/session/domain/message.ts'
import type { Session } from '#services/session/domain/session.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { holdingBlobs } from '#services/session/run/lifetime/holding-blobs.ts'
import type { Remover } from '#services/session/run/lifetime/remover.ts'
import { writeStaged } from '#services/session/run/lifetime/staged.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { check } from '#shared/rpc/parse.ts'
import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import { parseDirectory } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { sessionToProto } from '../session-to-proto.ts'
import { importedMessage, type KeepContent } from './check-imported.ts'
import { parseImportedSession } from './parse-import.ts'

/** Maximum number of ancestors of a session: each removal, and each reader of events, goes through all of them. */
const MOST_ANCESTORS = 100
/** How many messages are appended in one transaction, and about how many bytes together. */
const MOST_MESSAGES = 100
const MOST_BYTES = 524_288
/** Decoding, checking or writing a larger message takes a turn of the event loop of its own. */
const LARGE = 262_144

/** Imports a session, all or nothing. If the caller leaves, nothing of it remains. */
export function importSession(dependencies: {
  readonly store: SessionStore
  readonly blobs: BlobStore
  readonly catalog: Catalog
  readonly remover: Pick<Remover, 'wake'>
}): ServiceImpl<typeof SessionService>['importSession'] {
  const { store, blobs, catalog } = dependencies
  return async ({ session: given, directory, messages }, context) => {
    const call = peerCallOf(context)
    const { workspaceId: workspace } = call.principal
    const imported = parseImportedSession(given)
    if (imported.parentId !== undefined) await checkParent(store, workspace, imported.parentId)
    const location = await catalog.resolveLocation(call, parseDirectory(directory))
    const staged = await store.stageSession(workspace, imported.id, 'import')
    const session = await writeStaged(dependencies, staged, () =>
      holdingBlobs(blobs, async (hold) => {
        const keep: KeepContent = (data) => withStoreTime(() => blobs.put(workspace, data, hold))
        for await (const batch of batches(messages, keep)) {
          call.signal.throwIfAborted()
          await withStoreTime(() => store.appendStaged(staged, batch))
        }
        return await withStoreTime(() => store.commitStaged(staged, importedSession(imported, location)))
      }),
    )
    return { session: sessionToProto(session) }
  }
}

async function checkParent(store: SessionStore, workspace: string, parentId: string): Promise<void> {
  let id: string | undefined = parentId
  for (let count = 0; id !== undefined; count++) {
    check(count < MOST_ANCESTORS, 'parent_id', `must have fewer than ${MOST_ANCESTORS} ancestors`)
    const session: Session | undefined = await store.getSession(workspace, id)
    if (session === undefined && id === parentId) throw sessionNotFound(parentId)
    id = session?.parentId
  }
}

/** The settled messages, a few at a time; their content is kept first. */
async function* batches(messages: Uint8Array, keep: KeepContent): AsyncGenerator<readonly Message[]> {
  let batch: Message[] = []
  let size = 0
  let place = 0
  for await (const given of decoded(messages)) {
    const message = await importedMessage(given, `messages.${place++}`, keep)
    if (message === undefined) continue
    const bytes = bytesOf(message)
    if (bytes > LARGE) await ownTurn()
    if (batch.length === MOST_MESSAGES || (batch.length > 0 && size + bytes > MOST_BYTES)) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(message)
    size += bytes
  }
  if (batch.length > 0) yield batch
}

async function* decoded(messages: Uint8Array): AsyncGenerator<MessageProto> {
  const reader = new BinaryReader(messages)
  while (reader.pos < reader.len) {
    const bytes = reader.bytes()
    if (bytes.length > LARGE) await ownTurn()
    yield fromBinary(MessageSchema, bytes)
  }
}
