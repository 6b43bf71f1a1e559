import type { By } from '#services/identity/domain/audit.ts'
import { type RecordHead, reviseRecord } from '#services/identity/domain/revise.ts'
import type { Page, Slice } from '#services/identity/ports/federation-store.ts'
import type { JsonObject } from '#shared/json.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type RecordKind, toRecord } from '../stored/kinds.ts'
import { changeEntry } from '../stored/snapshots.ts'
import { writeEntry } from './audit-entries.ts'

/** A row of a record; in a join, its columns have a prefix. */
interface RecordRow {
  readonly id: string
  readonly organization_id: string
  readonly revision: number
  readonly settings: string
  readonly time_created: number
  readonly time_updated: number
}

/** Identifies a record of an organization. */
interface Place {
  readonly organizationId: string
  readonly id: string
}

const OWN = 'organization_id = ? AND id = ?'

/** A table of issuers or policies, including the audit entries of their changes. */
export class RecordTable<S> {
  readonly #file: SqliteFile
  readonly #kind: RecordKind<S>

  constructor(file: SqliteFile, kind: RecordKind<S>) {
    this.#file = file
    this.#kind = kind
  }

  create({ organizationId, id }: Place, decide: (count: number) => S, by: By): Promise<RecordHead & S> {
    return this.#file.write(() => {
      const settings = this.#kind.settings(decide(this.#count('organization_id = ?', [organizationId])))
      const seq = this.#log({ organizationId, id }, by, { after: this.#kind.snapshot(settings) })
      this.#file
        .statement(
          `INSERT INTO ${this.#kind.table} (id, organization_id, seq, revision, settings, time_created, time_updated)
          VALUES (?, ?, ?, 1, ?, ?, ?)`,
        )
        .run(id, organizationId, seq, JSON.stringify(settings), by.time, by.time)
      return { id, organizationId, revision: 1, timeCreated: by.time, timeUpdated: by.time, ...settings }
    })
  }

  get({ organizationId, id }: Place): (RecordHead & S) | undefined {
    const row = this.#file.statement(`SELECT * FROM ${this.#kind.table} WHERE ${OWN}`).get(organizationId, id)
    return row && this.#record(row as unknown as RecordRow)
  }

  has({ organizationId, id }: Place): boolean {
    return this.#file.statement(`SELECT 1 FROM ${this.#kind.table} WHERE ${OWN}`).get(organizationId, id) !== undefined
  }

  /** `where`: terms over columns of the table, and their values. */
  list(where: string, values: readonly string[], { offset, limit }: Slice): Page<RecordHead & S> {
    const rows = this.#file
      .statement(`SELECT * FROM ${this.#kind.table} WHERE ${where} ORDER BY seq LIMIT ? OFFSET ?`)
      .all(...values, limit, offset) as unknown as RecordRow[]
    return { items: rows.map((row) => this.#record(row)), total: this.#count(where, values) }
  }

  revise(place: Place, decide: (record: RecordHead & S) => S, by: By): Promise<(RecordHead & S) | undefined> {
    return this.#file.write(() => {
      const record = this.get(place)
      if (record === undefined) return undefined
      const settings = this.#kind.settings(decide(record))
      const revised = reviseRecord(record, settings, by.time, this.#kind.snapshot)
      if (revised === undefined) return record
      const { revision, timeUpdated } = revised.record
      this.#log(place, by, revised.change)
      this.#file
        .statement(`UPDATE ${this.#kind.table} SET revision = ?, settings = ?, time_updated = ? WHERE ${OWN}`)
        .run(revision, JSON.stringify(settings), timeUpdated, place.organizationId, place.id)
      return revised.record
    })
  }

  /** `also`: other writes in the same commit. */
  remove(place: Place, by: By, also: (record: S) => void = () => {}): Promise<boolean> {
    return this.#file.write(() => {
      const record = this.get(place)
      if (record === undefined) return false
      this.#log(place, by, { before: this.#kind.snapshot(record) })
      also(record)
      this.#file.statement(`DELETE FROM ${this.#kind.table} WHERE ${OWN}`).run(place.organizationId, place.id)
      return true
    })
  }

  #count(where: string, values: readonly string[]): number {
    const row = this.#file.statement(`SELECT count(*) AS count FROM ${this.#kind.table} WHERE ${where}`).get(...values)
    return row?.count as number
  }

  #log({ organizationId, id }: Place, by: By, change: { before?: JsonObject; after?: JsonObject }): number {
    const { resource } = this.#kind
    return writeEntry(this.#file, changeEntry({ organizationId, by, resource, resourceId: id, ...change }))
  }

  #record(row: RecordRow): RecordHead & S {
    const { id, organization_id: organizationId, revision } = row
    const head = { id, organizationId, revision, timeCreated: row.time_created, timeUpdated: row.time_updated }
    return toRecord(this.#kind, head, JSON.parse(row.settings) as S)
  }
}
