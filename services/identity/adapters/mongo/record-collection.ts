import type { ClientSession, Collection } from 'mongodb'
import type { By } from '#services/identity/domain/audit.ts'
import { type RecordHead, reviseRecord } from '#services/identity/domain/revise.ts'
import type { Page, Slice } from '#services/identity/ports/federation-store.ts'
import type { JsonObject } from '#shared/json.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { type RecordKind, toRecord } from '../stored/kinds.ts'
import { logChange } from './audit-entries.ts'
import { type Collections, keyOf, type RecordDocument } from './documents.ts'
import type { OrganizationChange, OrganizationChanges } from './organization-changes.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Identifies a record of an organization. */
interface Place {
  readonly organizationId: string
  readonly id: string
}

interface Change extends OrganizationChange {
  log(change: { before?: JsonObject; after?: JsonObject }): Promise<void>
}

/** A document as its port has it; undefined if there is none. */
export function recordOf<S>(
  kind: RecordKind<S>,
  document: RecordDocument | null | undefined,
): (RecordHead & S) | undefined {
  return document ? toRecord(kind, { ...document, id: document._id }, document.settings as S) : undefined
}

/** A collection of issuers or policies, including the audit entries of their changes. */
export class RecordCollection<S> {
  readonly #changes: OrganizationChanges
  readonly #collections: Collections
  readonly #documents: Collection<RecordDocument>
  readonly #kind: RecordKind<S>

  constructor(changes: OrganizationChanges, collections: Collections, kind: RecordKind<S>) {
    this.#changes = changes
    this.#collections = collections
    this.#documents = collections[kind.table]
    this.#kind = kind
  }

  create(place: Place, decide: (count: number) => S, by: By): Promise<RecordHead & S> {
    const { organizationId, id } = place
    return this.#change(place, by, async ({ session, position, log }) => {
      const settings = decide(await this.#documents.countDocuments({ organizationId }, { session, ...LIMIT }))
      const head = { organizationId, revision: 1, timeCreated: by.time, timeUpdated: by.time }
      const document = { _id: id, seq: position, ...head, ...this.#stored(settings) }
      await this.#documents.insertOne(document, { session, ...LIMIT })
      await log({ after: this.#kind.snapshot(settings) })
      return toRecord(this.#kind, { id, ...head }, settings)
    })
  }

  find({ organizationId, id }: Place, session?: ClientSession): Promise<RecordDocument | null> {
    return this.#documents.findOne({ _id: id, organizationId }, { ...LIMIT, session })
  }

  async list(filter: { readonly [field: string]: string }, { offset, limit }: Slice): Promise<Page<RecordDocument>> {
    const [items, total] = await Promise.all([
      this.#documents.find(filter, LIMIT).sort({ seq: 1 }).skip(offset).limit(limit).toArray(),
      this.#documents.countDocuments(filter, LIMIT),
    ])
    return { items, total }
  }

  revise(place: Place, decide: (record: RecordHead & S) => S, by: By): Promise<(RecordHead & S) | undefined> {
    return this.#change(place, by, async ({ session, log }) => {
      const record = recordOf(this.#kind, await this.find(place, session))
      if (record === undefined) return undefined
      const settings = this.#kind.settings(decide(record))
      const revised = reviseRecord(record, settings, by.time, this.#kind.snapshot)
      if (revised === undefined) return record
      const { revision, timeUpdated } = revised.record
      const changes = { $set: { revision, timeUpdated, ...this.#stored(settings) }, $unset: { health: true as const } }
      await this.#documents.updateOne({ _id: place.id }, changes, { session, ...LIMIT })
      await log(revised.change)
      return revised.record
    })
  }

  /** `also`: other writes in the same transaction. */
  remove(
    place: Place,
    by: By,
    also: (record: S, session: ClientSession) => Promise<unknown> = async () => {},
  ): Promise<boolean> {
    return this.#change(place, by, async ({ session, log }) => {
      const record = recordOf(this.#kind, await this.find(place, session))
      if (record === undefined) return false
      await this.#documents.deleteOne({ _id: place.id }, { session, ...LIMIT })
      await also(record, session)
      await log({ before: this.#kind.snapshot(record) })
      return true
    })
  }

  #change<R>({ organizationId, id }: Place, by: By, work: (change: Change) => Promise<R>): Promise<R> {
    return this.#changes.run(organizationId, ({ session, position }) => {
      const of = { organizationId, by, resource: this.#kind.resource, resourceId: id, position }
      const log = (change: { before?: JsonObject; after?: JsonObject }) =>
        logChange(this.#collections, session, { ...of, ...change })
      return work({ session, position, log })
    })
  }

  #stored(settings: S): Pick<RecordDocument, 'settings' | 'key'> {
    const target = this.#kind.target?.(settings)
    const key = target && { key: keyOf(target.workspaceId, target.keyId) }
    return { settings: this.#kind.settings(settings), ...key }
  }
}
