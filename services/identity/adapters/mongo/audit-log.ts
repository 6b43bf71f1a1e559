import { type Filter, MongoBulkWriteError, MongoServerError } from 'mongodb'
import type { AuditEntry } from '#gen/portico/identity/v1/federation_pb.js'
import type { AuditFilter, AuditLog, TokenUse } from '#services/identity/ports/audit-log.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { CLAIM_KEPT_MS, toEntry, useHash } from '../tables/audit.ts'
import { documentOf, takePositions } from './audit-entries.ts'
import type { AuditDocument, Collections } from './documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
const DUPLICATE_KEY = 11_000

interface Appending {
  readonly entry: AuditEntry
  resolve(): void
  reject(error: unknown): void
}

/**
 * The audit log in MongoDB. Entries that are appended while others are on their way to the server are sent together, in
 * the next bulk write.
 */
export class MongoAuditLog implements AuditLog {
  readonly #mongo: Mongo
  readonly #collections: Collections
  #waiting: Appending[] = []
  #isSending = false

  constructor(mongo: Mongo, collections: Collections) {
    this.#mongo = mongo
    this.#collections = collections
  }

  append(entry: AuditEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject })
      if (this.#isSending) return
      this.#isSending = true
      setImmediate(() => void this.#send())
    })
  }

  async appendOnce(entry: AuditEntry, use: TokenUse): Promise<boolean> {
    const { audit, replayClaims } = this.#collections
    const position = await takePositions(this.#collections, entry.organizationId, 1)
    const until = new Date(Math.ceil(use.timeExpires) + CLAIM_KEPT_MS)
    const claim = { _id: useHash(entry.organizationId, use), until }
    try {
      await this.#mongo.transact(async (session) => {
        await replayClaims.insertOne(claim, { session, ...LIMIT })
        await audit.insertOne(documentOf(entry, position), { session, ...LIMIT })
      })
      return true
    } catch (error) {
      // Positions are unique, so the duplicate is an earlier claim.
      if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false
      throw error
    }
  }

  async list(
    organizationId: string,
    filter: AuditFilter,
    before: number | undefined,
    limit: number,
  ): Promise<{ items: AuditEntry[]; more: boolean }> {
    const { since, until, ...equal } = filter
    const named = Object.entries(equal).filter(([, value]) => value !== undefined)
    const terms: Filter<AuditDocument>[] = [{ organizationId, ...Object.fromEntries(named) }]
    if (before !== undefined) terms.push({ position: { $lt: before } })
    if (since !== undefined || until !== undefined) {
      const time = { ...(since !== undefined && { $gte: since }), ...(until !== undefined && { $lt: until }) }
      const inWindow = { organizationId, time }
      // Without bounds for the position, a search by time would read the whole log. Times need not rise with positions.
      const [first, last] = await Promise.all([this.#positionOf(inWindow, 1), this.#positionOf(inWindow, -1)])
      if (first === undefined || last === undefined) return { items: [], more: false }
      terms.push({ time, position: { $gte: first, $lte: last } })
    }
    const documents = await this.#collections.audit
      .find({ $and: terms }, LIMIT)
      .sort({ position: -1 })
      .limit(limit + 1)
      .toArray()
    return { items: documents.slice(0, limit).map(toEntry), more: documents.length > limit }
  }

  async expire(before: number, limit: number): Promise<number> {
    const { organizations, audit, deletedPolicies } = this.#collections
    await deletedPolicies.deleteMany({ time: { $lt: before } }, LIMIT)
    let removed = 0
    for await (const { _id: organizationId } of organizations.find({}, { projection: { _id: 1 }, ...LIMIT })) {
      if (removed === limit) break
      const expired = await audit
        .find({ organizationId, time: { $lt: before } }, { projection: { _id: 1 }, ...LIMIT })
        .limit(limit - removed)
        .toArray()
      if (expired.length === 0) continue
      const { deletedCount } = await audit.deleteMany({ _id: { $in: expired.map(({ _id }) => _id) } }, LIMIT)
      removed += deletedCount
    }
    return removed
  }

  /** The first (1) or last (-1) position of the entries that match a filter. */
  async #positionOf(filter: Filter<AuditDocument>, direction: 1 | -1): Promise<number | undefined> {
    const document = await this.#collections.audit.findOne(filter, {
      sort: { position: direction },
      projection: { position: 1 },
      ...LIMIT,
    })
    return document?.position
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      await this.#insert(batch)
    }
    this.#isSending = false
  }

  /** Never throws: each entry is settled with its own result. */
  async #insert(batch: readonly Appending[]): Promise<void> {
    const groups = [...Map.groupBy(batch, ({ entry }) => entry.organizationId)]
    const placed = (await Promise.all(groups.map(([id, appending]) => this.#place(id, appending)))).flat()
    if (placed.length === 0) return
    try {
      await this.#collections.audit.insertMany(
        placed.map(({ document }) => document),
        { ordered: false, ...LIMIT },
      )
      for (const { appending } of placed) appending.resolve()
    } catch (error) {
      // An entry that the server did not accept failed alone; whether the majority accepted the others is known only if
      // there is no other error.
      const failed =
        error instanceof MongoBulkWriteError && !error.result.getWriteConcernError() ? failuresOf(error) : undefined
      for (const [index, { appending }] of placed.entries()) {
        if (failed === undefined || failed.has(index)) appending.reject(failed?.get(index) ?? error)
        else appending.resolve()
      }
    }
  }

  async #place(organization: string, group: readonly Appending[]) {
    try {
      const first = await takePositions(this.#collections, organization, group.length)
      return group.map((appending, index) => {
        return { appending, document: documentOf(appending.entry, first + index) }
      })
    } catch (error) {
      for (const { reject } of group) reject(error)
      return []
    }
  }
}

function failuresOf(error: MongoBulkWriteError): Map<number, unknown> {
  return new Map([error.writeErrors].flat().map((each) => [each.index, error]))
}
