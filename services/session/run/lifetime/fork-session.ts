import { create } from '@bufbuild/protobuf'
import {
  type ForkOrigin,
  ForkOriginSchema,
  PermissionRulesetSchema,
  type Session,
} from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { forkedMessages, forkedSession } from '#services/session/domain/lifetime/fork-session.ts'
import { ancestorRules, ownRules } from '#services/session/domain/subagent/ancestor-rules.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import type { MessagePage } from '#services/session/ports/session-lists.ts'
import type { StagedSession } from '#services/session/ports/session-staging.ts'
import { type SessionStore, sessionNotFound } from '#services/session/ports/session-store.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { Rejection } from '#shared/rejection.ts'
import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import { PAGE_BYTES } from '../history/read-messages.ts'
import { pause } from '../pause.ts'
import { RunFailure } from '../run-context.ts'
import { readAncestors } from '../subagents/ancestors.ts'
import { type Remover, writeStaged } from './remover.ts'

export interface ForkDependencies {
  readonly store: SessionStore
  readonly catalog: Catalog
  readonly remover: Pick<Remover, 'wake'>
  readonly clock: Clock
}

interface Fork {
  readonly workspace: string
  readonly sessionId: string
  /** Of the new session. */
  readonly id: string
  /** The history before this message is copied; undefined: all of it. */
  readonly before: string | undefined
}

/** How many messages are copied at once, unless that takes longer than `BATCH_MS`. */
const MOST_AT_ONCE = 100
const FIRST = 20
const BATCH_MS = 10
/** The pause between two batches, in milliseconds. */
const REST_MS = 5

/**
 * Copies the history of a session into a new one in batches; the new session becomes visible when it is complete.
 * Rejects with SESSION_NOT_FOUND (also if the session is removed meanwhile), MESSAGE_NOT_FOUND, SESSION_EMPTY or a
 * reason of the catalog, and throws the signal's reason; then nothing of the new session remains.
 */
export async function forkSession(dependencies: ForkDependencies, fork: Fork, call: PeerCall): Promise<Session> {
  const { store, clock } = dependencies
  const { workspace, sessionId, id } = fork
  const { origin, last, incarnation } = await findBoundary(store, fork)
  // Read after the boundary: if the id has meanwhile passed to another session, reading the first page to copy rejects.
  const source = await store.getSession(workspace, sessionId)
  if (source === undefined) throw sessionNotFound(sessionId)
  const permissions = await findPermissions(dependencies, source, call)
  const eventId = timedId('evt', clock)
  const staged = await store.stageSession(workspace, id, 'fork', { sessionId, incarnation })
  return writeStaged(dependencies, staged, async () => {
    await copy(store, fork, staged, last, eventId, call.signal)
    const made = forkedSession(source, permissions, origin, id, eventId)
    return await withStoreTime(() => store.commitStaged(staged, made))
  })
}

/**
 * The rules of a fork: those of its source, including those that bind the source because of its ancestors, which the
 * fork does not have.
 */
async function findPermissions(
  dependencies: ForkDependencies,
  { sessionId: id, parentId, permissions }: Session,
  call: PeerCall,
): Promise<Session['permissions']> {
  if (parentId === undefined) return permissions
  const line = readAncestors(dependencies, call, id, (question) => question())
  const [own, ...ancestors] = await line.catch((error: unknown): never => {
    throw error instanceof RunFailure ? sessionNotFound(id) : error
  })
  if (own === undefined) throw sessionNotFound(id)
  return create(PermissionRulesetSchema, { rules: ownRules(own, ancestorRules(own.agentId, ancestors)) })
}

/** The message before which the history ends, and the place of the last message to copy. */
async function findBoundary(
  store: SessionStore,
  fork: Fork,
): Promise<{ readonly origin: ForkOrigin; readonly last: number; readonly incarnation: string }> {
  const { workspace, sessionId, before } = fork
  const page = await store.listMessages(workspace, sessionId, { limit: 1, bytes: PAGE_BYTES, order: Order.DESCENDING })
  if (page === undefined) throw sessionNotFound(sessionId)
  const { incarnation } = page
  if (before !== undefined) {
    const message = await store.getMessage(workspace, sessionId, before)
    if (message === undefined) throw new Rejection('MESSAGE_NOT_FOUND', { session_id: sessionId, message_id: before })
    const origin = create(ForkOriginSchema, { sessionId, messageId: before })
    return { origin, last: message.seq - 1, incarnation }
  }
  const [last] = page.items
  if (last === undefined) throw new Rejection('SESSION_EMPTY', { session_id: sessionId })
  const origin = create(ForkOriginSchema, { sessionId, messageId: last.message.messageId, through: true })
  return { origin, last: last.seq, incarnation }
}

async function copy(
  store: SessionStore,
  fork: Fork,
  staged: StagedSession,
  last: number,
  eventId: string,
  signal: AbortSignal,
): Promise<void> {
  let limit = FIRST
  for (let seq = 0; ; ) {
    signal.throwIfAborted()
    const since = systemClock.monotonic()
    const { items, more } = await withStoreTime(() => readPage(store, fork, staged, seq, limit))
    // Reading a large message takes as long as writing it.
    await ownTurn()
    const wanted = items.filter((item) => item.seq <= last)
    const messages = forkedMessages(wanted, eventId)
    if (messages.length > 0) await withStoreTime(() => store.appendStaged(staged, messages))
    seq = items.at(-1)?.seq ?? last
    if (!more || seq >= last) return
    limit = systemClock.monotonic() - since > BATCH_MS ? Math.max(1, limit >> 1) : Math.min(limit * 2, MOST_AT_ONCE)
    await pause(REST_MS, signal)
  }
}

async function readPage(
  store: SessionStore,
  fork: Fork,
  { source }: StagedSession,
  seq: number,
  limit: number,
): Promise<MessagePage> {
  const anchor = { seq, direction: 'next' } as const
  const query = { limit, bytes: PAGE_BYTES, order: Order.ASCENDING, anchor } as const
  const page = await store.listMessages(fork.workspace, fork.sessionId, query)
  if (page === undefined || page.incarnation !== source?.incarnation) throw sessionNotFound(fork.sessionId)
  return page
}
