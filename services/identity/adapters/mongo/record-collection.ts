import type { ClientSession, Collection } from 'mongodb'
import type { By } from '#services/identity/domain/audit.ts'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import { reviseRecord } from '#services/identity/domain/revise.ts'
import type { Page, Slice } from '#services/identity/ports/federation-store.ts'
import type { JsonObject } from '#shared/json.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { Columns, RowOf } from '#shared/stores/table.ts'
import type { RecordKind } from '../tables/federation.ts'
import { logChange } from './audit-entries.ts'
import type { Collections } from './documents.ts'
import type { OrganizationChange, OrganizationChanges } from './organization-changes.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

interface Place {
  readonly organizationId: string
  readonly id: string
}

/** A document of either kind. */
interface RecordDocument extends RowOf<Columns> {
  readonly _id: string
  readonly organizationId: string
  readonly seq: number
}

interface Change extends OrganizationChange {
  log(change: { before?: JsonObject; after?: JsonObject }): Promise<void>
}

/** A collection of issuers or policies, including the audit entries of their changes. */
export class RecordCollection<R extends Issuer | Policy> {
  readonly #changes: OrganizationChanges
  readonly #collections: Collections
  readonly #documents: Collection<RecordDocument>
  readonly #kind: RecordKind<R>

  constructor(changes: OrganizationChanges, collections: Collections, kind: RecordKind<R>) {
    this.#changes = changes
    this.#collections = collections
    this.#documents = collections[kind.name] as unknown as Collection<RecordDocument>
    this.#kind = kind
  }

  create(place: Place, decide: (count: number) => R['settings'], by: By): Promise<R> {
    const { organizationId, id } = place
    return this.#change(place, by, async ({ session, position, log }) => {
      const settings = decide(await this.#documents.countDocuments({ organizationId }, { session, ...LIMIT }))
      const record = this.#kind.create(id, organizationId, settings, by)
      const document = { ...this.#kind.toRow(record), _id: id, organizationId, seq: position }
      await this.#documents.insertOne(document, { session, ...LIMIT })
      await log({ after: this.#kind.snapshot(settings) })
      return record
    })
  }

  async get({ organizationId, id }: Place, session?: ClientSession): Promise<R | undefined> {
    const document = await this.#documents.findOne({ _id: id, organizationId }, { ...LIMIT, session })
    return document === null ? undefined : this.#kind.fromRow(document)
  }

  async list(filter: { readonly [field: string]: string }, { offset, limit }: Slice): Promise<Page<R>> {
    const [documents, total] = await Promise.all([
      this.#documents.find(filter, LIMIT).sort({ seq: 1 }).skip(offset).limit(limit).toArray(),
      this.#documents.countDocuments(filter, LIMIT),
    ])
    return { items: documents.map((document) => this.#kind.fromRow(document)), total }
  }

  revise(place: Place, decide: (settings: R['settings']) => R['settings'], by: By): Promise<R | undefined> {
    return this.#change(place, by, async ({ session, log }) => {
      const record = await this.get(place, session)
      if (record === undefined) return undefined
      const revised = reviseRecord(record, decide(record.settings), by.time, this.#kind.snapshot)
      if (revised === undefined) return record
      const changes = { $set: this.#kind.toChanges(revised.record) }
      await this.#documents.updateOne({ _id: place.id }, changes, { session, ...LIMIT })
      await log(revised.change)
      return this.get(place, session)
    })
  }

  /** `also`: other writes in the same transaction. */
  remove(
    place: Place,
    by: By,
    also: (record: R, session: ClientSession) => Promise<unknown> = async () => {},
  ): Promise<boolean> {
    return this.#change(place, by, async ({ session, log }) => {
      const record = await this.get(place, session)
      if (record === undefined) return false
      await this.#documents.deleteOne({ _id: place.id }, { session, ...LIMIT })
      await also(record, session)
      await log({ before: this.#kind.snapshot(record.settings) })
      return true
    })
  }

  #change<T>({ organizationId, id }: Place, by: By, work: (change: Change) => Promise<T>): Promise<T> {
    const of = { organizationId, resource: this.#kind.resource, resourceId: id }
    return this.#changes.run(organizationId, (change) => {
      const { session, position } = change
      const log: Change['log'] = (states) => logChange(this.#collections, session, position, { ...of, ...states }, by)
      return work({ ...change, log })
    })
  }
}
