import { ALL_CHANGES } from '#services/session/domain/change.ts'
import { deletedEvent, leftTools } from '#services/session/domain/lifetime/removal.ts'
import type { Removal, SessionRemoval } from '#services/session/ports/session-removal.ts'
import { sessionNotFound } from '#services/session/ports/session-store.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { storeTimeLeft } from '#shared/telemetry/request-scope.ts'
import { type Below, MOST_BELOW, readBelow } from '../common/read-below.ts'
import { eventRecord } from '../tables/events.ts'
import { hiddenSessions, toRemoved } from '../tables/sessions.ts'
import type { MongoBatch } from './batch.ts'
import { keyOf, SERVER_NOW, type SessionDocument } from './collections.ts'
import { emptySession } from './empty-session.ts'
import { hiddenDocument, keepFor, toRemoval } from './hidden-sessions.ts'
import type { MongoJob } from './queue.ts'
import type { StoreParts } from './store-parts.ts'

const { columns } = hiddenSessions
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** Without the fields that may be large. */
const BARE = { metadata: 0, permissions: 0 } as const

type SessionBelow = Below<SessionDocument>

export class MongoRemoval implements SessionRemoval {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async removeSession(workspace: string, sessionId: string): Promise<Removal> {
    let tried: readonly Removal[] | undefined
    const [removed] = await this.#run({ workspace, sessionId }, async (batch) => {
      const document = await this.#read(batch, workspace, sessionId)
      // It was committed, and the answer was lost.
      if (document === null && tried !== undefined) return tried
      if (document === null) throw sessionNotFound(sessionId)
      const ancestors: string[] = []
      for (let id = document.parentId; id !== null; ) {
        ancestors.push(id)
        id = (await this.#read(batch, workspace, id))?.parentId ?? null
      }
      const hasBelow = (await this.#children(batch, workspace, sessionId, 1)).length > 0
      tried = await this.#remove(batch, workspace, [{ session: document, ancestors }], hasBelow)
      return tried
    })
    return removed as Removal
  }

  removeBelow({ workspace, sessionId, key: _id }: Removal): Promise<readonly Removal[]> {
    const { hiddenSessions } = this.#parts.collections
    return this.#run({ workspace, sessionId }, async (batch) => {
      const options = { ...LIMIT, session: batch.session }
      const { above } = (await hiddenSessions.findOne({ _id }, options)) ?? {}
      const ancestors = columns.above.decode(above ?? null)
      if (ancestors === undefined) return []
      const sessions = await this.#below(batch, workspace, sessionId, ancestors)
      if (sessions.length > 0) return this.#remove(batch, workspace, sessions, false)
      await hiddenSessions.updateOne({ _id }, { $set: { above: null } }, options)
      return []
    })
  }

  async takeRemoval(durationMs: number): Promise<Removal | undefined> {
    const { hiddenSessions } = this.#parts.collections
    const due = { until: { $gte: 0 }, $expr: { $lte: ['$until', SERVER_NOW] } }
    const options = { ...LIMIT, sort: { until: 1 } } as const
    const document = await hiddenSessions.findOneAndUpdate(due, keepFor(durationMs, { kind: 'removal' }), options)
    return document === null ? undefined : toRemoval(document)
  }

  async continueRemoval({ key: _id }: Removal, durationMs: number): Promise<boolean> {
    const { mongo, collections } = this.#parts
    const document = await collections.hiddenSessions.findOneAndUpdate(
      { _id, kind: 'removal' },
      keepFor(durationMs),
      LIMIT,
    )
    return document !== null && (await emptySession(mongo, collections, document))
  }

  async endRemoval({ key: _id }: Removal): Promise<void> {
    await this.#parts.collections.hiddenSessions.deleteOne({ _id, kind: 'removal' }, LIMIT)
  }

  /** Removes sessions, and notifies those who wait for them once that is committed. */
  async #run(
    { workspace, sessionId }: Pick<Removal, 'workspace' | 'sessionId'>,
    job: MongoJob<readonly Removal[]>,
  ): Promise<readonly Removal[]> {
    const { mongo, queue, notices } = this.#parts
    const limits = { limitMs: storeTimeLeft(mongo.limitMs), patient: false }
    const removed = await queue.run(workspace, sessionId, limits, async (batch) => {
      await batch.flush()
      return job(batch)
    })
    for (const { sessionId } of removed) notices.notify(workspace, sessionId, ALL_CHANGES)
    return removed
  }

  async #remove(
    batch: MongoBatch,
    workspace: string,
    family: readonly SessionBelow[],
    hasBelow: boolean,
  ): Promise<readonly Removal[]> {
    const { collections, clock, newId } = this.#parts
    const { sessions, hiddenSessions, requests, events } = collections
    const options = { ...LIMIT, session: batch.session }
    const hidden = family.map(({ session: document, ancestors }) => {
      const { sessionId, base, seq } = document
      const above = hasBelow ? ancestors : undefined
      const tools = leftTools(toRemoved(document))
      return hiddenDocument(base, { workspace, sessionId, kind: 'removal', seq, tools, above })
    })
    const deleted = family.map(({ session: document, ancestors }) => {
      const record = eventRecord(workspace, deletedEvent(toRemoved(document), ancestors, clock.now(), newId))
      return { _id: keyOf(workspace, record.id), ...record }
    })
    const ids = family.map(({ session }) => session.sessionId)
    await sessions.deleteMany({ _id: { $in: ids.map((id) => keyOf(workspace, id)) } }, options)
    await hiddenSessions.insertMany(hidden, options)
    await requests.deleteMany({ workspace, sessionId: { $in: ids }, reply: null }, options)
    await events.insertMany(deleted, options)
    batch.removed()
    return hidden.map(toRemoval)
  }

  /** Some sessions below one, children before their parents. */
  async #below(
    batch: MongoBatch,
    workspace: string,
    id: string,
    ancestors: readonly string[],
  ): Promise<readonly SessionBelow[]> {
    const reading = readBelow<SessionDocument>(id, ancestors)
    let step = reading.next()
    while (!step.done) step = reading.next(await this.#children(batch, workspace, step.value, MOST_BELOW))
    return step.value
  }

  #children({ session }: MongoBatch, workspace: string, parentId: string, limit: number): Promise<SessionDocument[]> {
    const { sessions } = this.#parts.collections
    return sessions.find({ workspace, parentId }, { ...LIMIT, session, limit, projection: BARE }).toArray()
  }

  #read({ session }: MongoBatch, workspace: string, id: string): Promise<SessionDocument | null> {
    const { sessions } = this.#parts.collections
    return sessions.findOne({ _id: keyOf(workspace, id) }, { ...LIMIT, session, projection: BARE })
  }
}
