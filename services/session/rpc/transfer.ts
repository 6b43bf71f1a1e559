import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Message, MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import { OutcomeSchema, type Session } from '#gen/portico/session/v1/session_pb.js'
import { Order, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { ownTurn } from '#shared/own-turn.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check, checkEnum } from '#shared/rpc/parse.ts'
import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import { isSettled, type StoredMessage } from '../domain/message.ts'
import { bytesOf } from '../domain/message-size.ts'
import { importedSession } from '../domain/new-session.ts'
import { NO_TOKENS } from '../domain/session.ts'
import { type SessionStore, sessionNotFound } from '../ports/session-store.ts'
import { readMessages, type SameSession } from '../run/history/read-messages.ts'
import { holdingBlobs } from '../run/lifetime/holding-blobs.ts'
import { writeStaged } from '../run/lifetime/remover.ts'
import type { SessionDependencies } from './dependencies.ts'
import { checkCost, checkTokens, type KeepContent, prepareImported } from './imported-messages.ts'
import { checkReadable, readContent } from './message-stream.ts'
import {
  checkModel,
  checkRules,
  checkTime,
  parseAgentName,
  parseDirectory,
  parseMetadata,
  parseSessionId,
  parseTitle,
} from './parse.ts'
import { peerCallOf } from './peer-call.ts'

/** Maximum number of ancestors of a session: each removal, and each reader of events, goes through all of them. */
const MOST_ANCESTORS = 100
/** How many messages are appended in one transaction, and about how many bytes together. */
const MOST_MESSAGES = 100
const MOST_BYTES = 524_288
/** Decoding, checking or writing a larger message takes a turn of the event loop of its own. */
const LARGE = 262_144

export function transferHandlers(dependencies: SessionDependencies) {
  const { store, blobs, catalog } = dependencies
  return {
    /**
     * Streams a session and its settled messages, each followed by the content of its files. Before anything is sent,
     * every message is read once and encoded, and its files are looked for, so that one that cannot be read rejects the
     * call as a whole.
     */
    async *exportSession({ sessionId, withoutContent }, context) {
      const { workspaceId: workspace } = principalOf(context)
      const same: SameSession = {}
      let last = 0
      for await (const stored of settled(store, workspace, sessionId, same)) {
        await checkReadable(dependencies, { workspace, sessionId }, stored, withoutContent)
        last = stored.seq
      }
      // The last message may have taken long.
      await ownTurn()
      // Between the two readings: if another session has the id by now, the second reading finds that out.
      const session = await store.getSession(workspace, sessionId)
      if (session === undefined) throw sessionNotFound(sessionId)
      yield { item: { case: 'session', value: session } }
      for await (const stored of settled(store, workspace, sessionId, same)) {
        if (stored.seq > last) break
        yield { item: { case: 'message', value: stored.message } }
        if (withoutContent) continue
        for await (const value of readContent(dependencies, { workspace, sessionId }, stored))
          yield { item: { case: 'content', value } }
      }
    },
    /** Imports a session, all or nothing. If the caller leaves, nothing of it remains. */
    async importSession({ session: exported, directory, messages }, context) {
      const call = peerCallOf(context)
      const { workspaceId: workspace } = call.principal
      const imported = acceptSession(exported)
      if (imported.parentId !== undefined) await checkParent(store, workspace, imported.parentId)
      const location = await catalog.resolveLocation(call, parseDirectory(directory))
      const staged = await store.stageSession(workspace, imported.sessionId, 'import')
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
      return { session }
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

async function* settled(
  store: SessionStore,
  workspace: string,
  sessionId: string,
  same: SameSession,
): AsyncGenerator<StoredMessage> {
  for await (const stored of readMessages(store, workspace, sessionId, Order.ASCENDING, { same })) {
    if (isSettled(stored.message)) yield stored
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
  for await (const message of decoded(messages)) {
    await prepareImported(message, `messages.${place++}`, keep)
    // It was still running in the server that exported it.
    if (!isSettled(message)) continue
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

async function* decoded(messages: Uint8Array): AsyncGenerator<Message> {
  const reader = new BinaryReader(messages)
  while (reader.pos < reader.len) {
    const bytes = reader.bytes()
    if (bytes.length > LARGE) await ownTurn()
    yield fromBinary(MessageSchema, bytes)
  }
}

/** Checks the session of an import, and returns what is kept of it: it is no fork. */
export function acceptSession(session: Session | undefined): Session {
  check(session !== undefined, 'session', 'is required')
  const { title, agent, model, parentId, permissions, outcome, tokens = NO_TOKENS, idleTime, viewTime } = session
  parseSessionId(session.sessionId)
  if (parentId !== undefined) parseSessionId(parentId)
  if (title !== undefined) parseTitle(title)
  if (agent !== undefined) parseAgentName('agent', agent)
  if (model !== undefined) checkModel(model)
  if (permissions !== undefined) checkRules(permissions)
  if (outcome !== undefined) checkEnum(OutcomeSchema, outcome, 'outcome')
  parseMetadata(session.metadata)
  checkCost(session.costNanos)
  checkTokens(tokens)
  for (const time of [session.createTime, idleTime, viewTime, session.archiveTime]) checkTime(time)
  const kept = { ...session, tokens, fork: undefined }
  // How a run ended, and whether that was seen, is only kept with its time.
  if (idleTime === undefined) return { ...kept, outcome: undefined, viewTime: undefined }
  return { ...kept, viewTime: viewTime && Math.min(viewTime, idleTime) }
}
