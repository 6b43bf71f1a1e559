import type { Message } from '#gen/portico/session/v1/message_pb.js'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type { CreateSession } from '#services/session/domain/new-session.ts'
import {
  type SessionStaging,
  STAGED_MS,
  type StagedKind,
  type StagedSession,
  type StagedSource,
} from '#services/session/ports/session-staging.ts'
import { sessionNotFound } from '#services/session/ports/session-store.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { storeTimeLeft } from '#shared/telemetry/request-scope.ts'
import { messageExists, sessionExists, stagingOver } from '../common/refusals.ts'
import { activityOfStaged } from '../tables/activity.ts'
import { newSessionRecord } from '../tables/sessions.ts'
import type { MongoBatch } from './batch.ts'
import { type HiddenDocument, keyOf } from './collections.ts'
import { giveUpStaged, hiddenDocument, keepFor, LIVE, readBase } from './hidden-sessions.ts'
import type { MongoJob } from './queue.ts'
import type { StoreParts } from './store-parts.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

export class MongoStaging implements SessionStaging {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  stageSession(workspace: string, sessionId: string, kind: StagedKind, source?: StagedSource): Promise<StagedSession> {
    const { collections } = this.#parts
    return this.#run({ workspace, sessionId }, async (batch) => {
      const options = { ...LIMIT, session: batch.session }
      if ((await batch.readState()) !== undefined) throw sessionExists({ sessionId })
      const { base } = await readBase(collections, workspace, sessionId, batch.session)
      await giveUpStaged(collections, { workspace, sessionId }, batch.session)
      const document = hiddenDocument(base, {
        workspace,
        sessionId,
        kind,
        seq: base,
        tools: undefined,
        above: undefined,
      })
      await collections.hiddenSessions.insertOne(document, options)
      await collections.hiddenSessions.updateOne({ _id: document._id }, keepFor(STAGED_MS), options)
      await this.#claimKey(batch, keyOf(workspace, sessionId))
      return { workspace, sessionId, key: document._id, source }
    })
  }

  appendStaged(staged: StagedSession, messages: readonly Message[]): Promise<void> {
    let before: number | undefined
    return this.#run(staged, async (batch) => {
      const { seq, kind } = await this.#find(batch, staged)
      // It was committed, and the answer was lost.
      if (before !== undefined && seq === before + messages.length) return
      before = seq
      await this.#requireSource(batch, staged)
      const ids = messages.map(({ messageId }) => messageId)
      const taken = ids.find((id, i) => ids.indexOf(id) < i) ?? (await batch.claimIds(ids))
      if (taken !== undefined) throw messageExists(taken)
      for (const [i, message] of messages.entries()) {
        batch.addWrite({ type: 'insert', seq: seq + 1 + i, message })
        const activity = activityOfStaged(kind, message)
        if (activity !== undefined) batch.addWrite({ type: 'count', seq: seq + 1, activity })
      }
      batch.push('hiddenSessions', {
        updateOne: { filter: { _id: staged.key }, update: keepFor(STAGED_MS, { seq: seq + messages.length }) },
      })
    })
  }

  async commitStaged(staged: StagedSession, create: CreateSession): Promise<Session> {
    const { clock, newId } = this.#parts
    const { workspace, key: _id } = staged
    let tried: { readonly base: number; readonly session: Session } | undefined
    return this.#run(staged, async (batch) => {
      // It was committed, and the answer was lost: no other session has these numbers.
      if (tried !== undefined && (await batch.readState())?.base === tried.base) return tried.session
      const { base, seq } = await this.#find(batch, staged)
      const { session, revision } = create(clock.now(), newId, seq)
      tried = { base, session }
      if (session.parentId !== undefined) await this.#requireParent(batch, workspace, session.parentId)
      batch.create(newSessionRecord(workspace, session, revision.state), revision, base)
      batch.push('hiddenSessions', { deleteOne: { filter: { _id } } })
      return session
    })
  }

  giveUpStaged({ workspace, sessionId, key: _id }: StagedSession): Promise<void> {
    return giveUpStaged(this.#parts.collections, { _id, workspace, sessionId })
  }

  async #find(batch: MongoBatch, { workspace, sessionId, key }: StagedSession): Promise<HiddenDocument> {
    const { collections } = this.#parts
    await batch.flush()
    const options = { ...LIMIT, session: batch.session }
    const document = await collections.hiddenSessions.findOne({ _id: key, workspace, sessionId, ...LIVE }, options)
    if (document !== null) return document
    const another = { workspace, sessionId, ...LIVE }
    const isTaken =
      (await batch.readState()) !== undefined ||
      (await collections.hiddenSessions.findOne(another, { ...options, projection: { _id: 1 } })) !== null
    throw isTaken ? sessionExists({ sessionId }) : stagingOver()
  }

  async #requireSource(batch: MongoBatch, { workspace, source }: StagedSession): Promise<void> {
    if (source === undefined) return
    const options = { ...LIMIT, session: batch.session, projection: { base: 1 } }
    const _id = keyOf(workspace, source.sessionId)
    const document = await this.#parts.collections.sessions.findOne({ _id }, options)
    if (document === null || String(document.base) !== source.incarnation) throw sessionNotFound(source.sessionId)
  }

  /** Writes the parent, too: removing it at the same time would leave the child behind. */
  async #requireParent(batch: MongoBatch, workspace: string, parentId: string): Promise<void> {
    const filter = { _id: keyOf(workspace, parentId) }
    const options = { ...LIMIT, session: batch.session }
    const { sessions } = this.#parts.collections
    const { matchedCount } = await sessions.updateOne(filter, { $inc: { version: 1 } }, options)
    if (matchedCount === 0) throw sessionNotFound(parentId)
  }

  /**
   * Of two callers that make a session with the same id at once, in one write or in many, the server lets one go first.
   */
  async #claimKey(batch: MongoBatch, _id: string): Promise<void> {
    const claims = this.#parts.collections.db.collection<{ readonly _id: string }>('sessions')
    const options = { ...LIMIT, session: batch.session }
    await claims.insertOne({ _id }, options)
    await claims.deleteOne({ _id }, options)
  }

  #run<T>({ workspace, sessionId }: Pick<StagedSession, 'workspace' | 'sessionId'>, job: MongoJob<T>): Promise<T> {
    const { mongo, queue } = this.#parts
    return queue.run(workspace, sessionId, { limitMs: storeTimeLeft(mongo.limitMs), patient: false }, job)
  }
}
