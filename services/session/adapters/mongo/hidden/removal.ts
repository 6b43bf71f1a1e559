import { eventRecord } from '#services/session/adapters/common/event-record.ts'
import { sessionNotFound } from '#services/session/adapters/common/refusals.ts'
import { toState } from '#services/session/adapters/common/session-record.ts'
import { ALL_CHANGES } from '#services/session/domain/change.ts'
import { deletedEvent, leftTools } from '#services/session/domain/lifetime/removal.ts'
import type { Removal, SessionRemoval } from '#services/session/ports/session-removal.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { storeTimeLeft } from '#shared/telemetry/request-scope.ts'
import type { MongoBatch } from '../batch.ts'
import { keyOf, SERVER_NOW, type SessionDocument, type StoreParts } from '../collections.ts'
import { emptySession } from './empty-session.ts'
import { hiddenDocument, keepFor, toRemoval } from './hidden-sessions.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** See SessionRemoval. */
export class MongoRemoval implements SessionRemoval {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async removeSession(workspace: string, sessionId: string): Promise<readonly Removal[]> {
    const { mongo, queue, notices } = this.#parts
    const limits = { limitMs: storeTimeLeft(mongo.limitMs), patient: false }
    const removed = await queue.run(workspace, sessionId, limits, (batch) => this.#remove(batch, workspace, sessionId))
    for (const { sessionId } of removed) notices.notify(workspace, sessionId, ALL_CHANGES)
    return removed
  }

  async takeRemoval(durationMs: number): Promise<Removal | undefined> {
    const { hiddenSessions } = this.#parts.collections
    const due = { until: { $gte: 0 }, $expr: { $lte: ['$until', SERVER_NOW] } }
    const options = { ...LIMIT, sort: { until: 1 } } as const
    const found = await hiddenSessions.findOneAndUpdate(due, keepFor(durationMs, { kind: 'removal' }), options)
    return found === null ? undefined : toRemoval(found)
  }

  async continueRemoval({ key: _id }: Removal, durationMs: number): Promise<boolean> {
    const { mongo, collections } = this.#parts
    const found = await collections.hiddenSessions.findOneAndUpdate(
      { _id, kind: 'removal' },
      keepFor(durationMs),
      LIMIT,
    )
    return found !== null && (await emptySession(mongo, collections, found))
  }

  async endRemoval({ key: _id }: Removal): Promise<void> {
    await this.#parts.collections.hiddenSessions.deleteOne({ _id, kind: 'removal' }, LIMIT)
  }

  async #remove(batch: MongoBatch, workspace: string, sessionId: string): Promise<Removal[]> {
    const { collections, clock, newId } = this.#parts
    const { sessions, hiddenSessions, requests, events } = collections
    await batch.flush()
    const options = { ...LIMIT, session: batch.session }
    const family = await this.#readFamily(batch, workspace, sessionId)
    const hidden = family.map((document) => {
      const { id: sessionId, base = 0, seq } = document
      return hiddenDocument({ workspace, sessionId, kind: 'removal', base, seq }, leftTools(toState(document)))
    })
    const deleted = family.map((document) => {
      const event = deletedEvent(toState(document), clock.now(), newId)
      return { _id: keyOf(workspace, event.id), ...eventRecord(workspace, document.id, event) }
    })
    const ids = family.map(({ id }) => id)
    await sessions.deleteMany({ _id: { $in: family.map(({ _id }) => _id) } }, options)
    await hiddenSessions.insertMany(hidden, options)
    await requests.deleteMany({ workspace, sessionId: { $in: ids }, reply: null }, options)
    await events.insertMany(deleted, options)
    batch.removed()
    return hidden.map(toRemoval)
  }

  /** A session and all below it, children before their parents. */
  async #readFamily(batch: MongoBatch, workspace: string, sessionId: string): Promise<SessionDocument[]> {
    const { sessions } = this.#parts.collections
    const options = { ...LIMIT, session: batch.session }
    const root = await sessions.findOne({ _id: keyOf(workspace, sessionId) }, options)
    if (root === null) throw sessionNotFound({ sessionId })
    const found = [root]
    const waiting = [sessionId]
    for (let parentId = waiting.pop(); parentId !== undefined; parentId = waiting.pop()) {
      for await (const child of sessions.find({ workspace, parentId }, options)) {
        found.push(child)
        waiting.push(child.id)
      }
    }
    return found.reverse()
  }
}
