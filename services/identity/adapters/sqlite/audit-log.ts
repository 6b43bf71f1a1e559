import type { AuditEntry, AuditEvent } from '#services/identity/domain/audit.ts'
import type { AuditFilter, AuditLog, ListedAuditEntry } from '#services/identity/ports/audit-log.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { keysOf, toEntry } from '../stored/records.ts'

interface EntryRow {
  readonly position: number
  readonly time: number
  readonly event: string
}

const RAISE =
  'UPDATE organizations SET last_position = last_position + ?2 WHERE id = ?1 RETURNING last_position AS position'
const INSERT = `INSERT INTO audit_entries (organization_id, position, time, kind, policy_id, issuer_id, event)
  VALUES (?, ?, ?, ?, ?, ?, ?)`
const KEEP_FROM = 'UPDATE audit_retention SET kept_from = ?1 WHERE kept_from < ?1'
const REMOVE = `DELETE FROM audit_entries WHERE organization_id = ?1 AND position IN
  (SELECT position FROM audit_entries WHERE organization_id = ?1 AND time < ?2 LIMIT ?3)`
/** In a window of time with more entries than this, they are not looked through for bounds: most pages fill before. */
const FEW = 20_000
const IN_WINDOW = `(SELECT position FROM audit_entries INDEXED BY audit_entries_time
  WHERE organization_id = ? AND time >= ? AND time < ? LIMIT ${FEW + 1})`
// Without bounds of the position a search for a time would read the whole log. Times need not rise with positions.
const WINDOW = `time >= ? AND time < ?
  AND position >= (SELECT iif(count(*) > ${FEW}, 0, min(position)) FROM ${IN_WINDOW})
  AND position <= (SELECT iif(count(*) > ${FEW}, ${Number.MAX_SAFE_INTEGER}, max(position)) FROM ${IN_WINDOW})`

/** Entries that are appended in one turn of the event loop. */
interface Group {
  readonly entries: AuditEntry[]
  /** The organizations that are there; resolves when their entries are durable. */
  readonly written: Promise<ReadonlySet<string>>
}

/** The audit log in SQLite: triggers refuse to change an entry, and to remove one that is to be kept. */
export class SqliteAuditLog implements AuditLog {
  readonly #file: SqliteFile
  #group: Group | undefined

  constructor(file: SqliteFile) {
    this.#file = file
  }

  async append(entry: AuditEntry): Promise<void> {
    this.#group ??= this.#beginGroup()
    this.#group.entries.push(entry)
    const written = await this.#group.written
    if (!written.has(entry.organizationId)) throw missing(entry)
  }

  async list(
    organization: string,
    filter: AuditFilter,
    before: number | undefined,
    limit: number,
  ): Promise<{ items: readonly ListedAuditEntry[]; more: boolean }> {
    const { kind, policyId, issuerId, since = 0, until = Number.MAX_SAFE_INTEGER } = filter
    const window = [since, until, organization, since, until, organization, since, until]
    const isTimed = filter.since !== undefined || filter.until !== undefined
    const terms: readonly [string, ...(string | number | undefined)[]][] = [
      ['organization_id = ?', organization],
      ['position < ?', before],
      ['kind = ?', kind],
      // The index of the rarer kinds is taken where the query says what it says.
      [`kind <> 'exchange-accepted' AND ?`, kind === undefined || kind === 'exchange-accepted' ? undefined : 1],
      ['policy_id = ?', policyId],
      ['issuer_id = ?', issuerId],
      [WINDOW, ...(isTimed ? window : [undefined])],
    ]
    const wanted = terms.filter(([, ...values]) => !values.includes(undefined))
    const where = wanted.map(([term]) => term).join(' AND ')
    const values = wanted.flatMap(([, ...each]) => each) as (string | number)[]
    const rows = this.#file
      .statement(`SELECT position, time, event FROM audit_entries WHERE ${where} ORDER BY position DESC LIMIT ?`)
      .all(...values, limit + 1) as unknown as EntryRow[]
    const items = rows.slice(0, limit).map(({ position, time, event }) => {
      return { position, entry: toEntry(organization, time, JSON.parse(event) as AuditEvent) }
    })
    return { items, more: rows.length > limit }
  }

  expire(before: number, limit: number): Promise<number> {
    return this.#file.write(() => {
      this.#file.statement(KEEP_FROM).run(before)
      const organizations = this.#file.statement('SELECT id FROM organizations').all() as unknown as { id: string }[]
      let removed = 0
      for (const { id } of organizations) {
        if (removed === limit) break
        removed += Number(this.#file.statement(REMOVE).run(id, before, limit - removed).changes)
      }
      return removed
    })
  }

  #beginGroup(): Group {
    const entries: AuditEntry[] = []
    const close = (): void => {
      this.#group = undefined
    }
    const written = this.#file.write(() => {
      close()
      const groups = Map.groupBy(entries, ({ organizationId }) => organizationId)
      return new Set(
        Array.from(groups).flatMap(([id, own]) => (writeEntries(this.#file, id, own) === undefined ? [] : [id])),
      )
    })
    // A commit that could not begin has not called the job.
    written.catch(close)
    return { entries, written }
  }
}

/** Writes an entry, in a job of the file. Returns its position; throws when there is no such organization. */
export function writeEntry(file: SqliteFile, entry: AuditEntry): number {
  const position = writeEntries(file, entry.organizationId, [entry])
  if (position === undefined) throw missing(entry)
  return position
}

/** Writes entries, and returns the position of the last one; undefined: there is no such organization. */
function writeEntries(file: SqliteFile, organizationId: string, entries: readonly AuditEntry[]): number | undefined {
  const counter = file.statement(RAISE).get(organizationId, entries.length) as { position: number } | undefined
  if (counter === undefined) return undefined
  let position = counter.position - entries.length
  for (const { time, event } of entries) {
    const { kind, policyId = null, issuerId = null } = keysOf(event)
    position++
    file.statement(INSERT).run(organizationId, position, time, kind, policyId, issuerId, JSON.stringify(event))
  }
  return position
}

function missing({ organizationId }: AuditEntry): Error {
  return new Error(`There is no organization ${organizationId}`)
}
