import { type By, changeEntry } from '#services/identity/domain/audit.ts'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { Policy } from '#services/identity/domain/policy.ts'
import { reviseRecord } from '#services/identity/domain/revise.ts'
import type { Page, Slice } from '#services/identity/ports/federation-store.ts'
import type { JsonObject } from '#shared/json.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectAll, selectOne, updateRows } from '#shared/stores/sqlite-table.ts'
import type { RecordKind } from '../tables/federation.ts'
import { writeEntry } from './audit-entries.ts'

interface Place {
  readonly organizationId: string
  readonly id: string
}

/** A table of issuers or policies, including the audit entries of their changes. */
export class RecordTable<R extends Issuer | Policy> {
  readonly #file: SqliteFile
  readonly #kind: RecordKind<R>
  readonly #insert: ReturnType<typeof insertInto>
  /** The record with an id, in an organization. */
  readonly #own: string

  constructor(file: SqliteFile, kind: RecordKind<R>) {
    this.#file = file
    this.#kind = kind
    this.#insert = insertInto(kind.table)
    this.#own = `WHERE organizationId = ? AND ${kind.id} = ?`
  }

  create({ organizationId, id }: Place, decide: (count: number) => R['settings'], by: By): Promise<R> {
    return this.#file.write(() => {
      const settings = decide(this.#count('organizationId = ?', [organizationId]))
      const record = this.#kind.create(id, organizationId, settings, by)
      const seq = this.#log({ organizationId, id }, by, { after: this.#kind.snapshot(settings) })
      this.#insert(this.#file, [{ ...this.#kind.toRow(record), seq }])
      return record
    })
  }

  get({ organizationId, id }: Place): R | undefined {
    const { columns, name } = this.#kind.table
    const row = selectOne(this.#file, columns, `FROM ${name} ${this.#own}`, organizationId, id)
    return row && this.#kind.fromRow(row)
  }

  has({ organizationId, id }: Place): boolean {
    const sql = `SELECT 1 FROM ${this.#kind.table.name} ${this.#own}`
    return this.#file.statement(sql).get(organizationId, id) !== undefined
  }

  /** `where`: terms over columns of the table, and their values. */
  list(where: string, values: readonly string[], { offset, limit }: Slice): Page<R> {
    const { columns, name } = this.#kind.table
    const rest = `FROM ${name} WHERE ${where} ORDER BY seq LIMIT ? OFFSET ?`
    const rows = selectAll(this.#file, columns, rest, ...values, limit, offset)
    return { items: rows.map(this.#kind.fromRow), total: this.#count(where, values) }
  }

  revise(place: Place, decide: (settings: R['settings']) => R['settings'], by: By): Promise<R | undefined> {
    return this.#file.write(() => {
      const record = this.get(place)
      if (record === undefined) return undefined
      const { toChanges, table, snapshot } = this.#kind
      const revised = reviseRecord(record, decide(record.settings), by.time, snapshot)
      if (revised === undefined) return record
      this.#log(place, by, revised.change)
      updateRows(this.#file, table, toChanges(revised.record), this.#own, place.organizationId, place.id)
      return this.get(place)
    })
  }

  /** `also`: other writes in the same commit. */
  remove(place: Place, by: By, also: (record: R) => void = () => {}): Promise<boolean> {
    return this.#file.write(() => {
      const record = this.get(place)
      if (record === undefined) return false
      this.#log(place, by, { before: this.#kind.snapshot(record.settings) })
      also(record)
      const sql = `DELETE FROM ${this.#kind.table.name} ${this.#own}`
      this.#file.statement(sql).run(place.organizationId, place.id)
      return true
    })
  }

  #count(where: string, values: readonly string[]): number {
    const sql = `SELECT count(*) AS count FROM ${this.#kind.table.name} WHERE ${where}`
    return this.#file.statement(sql).get(...values)?.count as number
  }

  #log({ organizationId, id }: Place, by: By, change: { before?: JsonObject; after?: JsonObject }): number {
    const { resource } = this.#kind
    return writeEntry(this.#file, changeEntry({ organizationId, resource, resourceId: id, ...change }, by))
  }
}
