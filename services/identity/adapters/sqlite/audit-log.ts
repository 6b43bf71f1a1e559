import type { AuditEntry } from '#gen/portico/identity/v1/federation_pb.js'
import type { AuditFilter, AuditLog, TokenUse } from '#services/identity/ports/audit-log.ts'
import type { Clock } from '#shared/clock.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectAll } from '#shared/stores/sqlite-table.ts'
import { audit, CLAIM_KEPT_MS, toEntry, useHash } from '../tables/audit.ts'
import { missingOrganization, writeEntries } from './audit-entries.ts'
import { auditQuery } from './audit-query.ts'

const { organizationId, position, time, event } = audit.columns
const listedColumns = { organizationId, position, time, event }
const KEEP_FROM = 'UPDATE audit_retention SET keptFrom = ?1 WHERE keptFrom < ?1'
const REMOVE = `DELETE FROM audit WHERE organizationId = ?1 AND position IN
  (SELECT position FROM audit WHERE organizationId = ?1 AND time < ?2 LIMIT ?3)`
const FORGET_POLICIES = 'DELETE FROM deleted_policies WHERE time < ?'
const CLAIM = 'INSERT INTO replay_claims (hash, until) VALUES (?, ?) ON CONFLICT DO NOTHING'
// Each claim makes room for itself and one more.
const FORGET_CLAIMS = `DELETE FROM replay_claims WHERE hash IN
  (SELECT hash FROM replay_claims WHERE until < ? ORDER BY until LIMIT 2)`

/** An entry to be written, and the token to be claimed with it. */
interface Appending {
  readonly entry: AuditEntry
  readonly use: TokenUse | undefined
}

type Outcome = 'written' | 'claimed before' | 'no organization'

/** Entries that were appended in one turn of the event loop. */
interface Group {
  readonly appending: Appending[]
  /** The result of each, in order; resolves when those that were written are durable. */
  readonly written: Promise<readonly Outcome[]>
}

/** The audit log in SQLite: triggers refuse to change an entry, or to remove one before its time. */
export class SqliteAuditLog implements AuditLog {
  readonly #file: SqliteFile
  readonly #clock: Clock
  #group: Group | undefined

  constructor(file: SqliteFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  async append(entry: AuditEntry): Promise<void> {
    await this.#append({ entry, use: undefined })
  }

  appendOnce(entry: AuditEntry, use: TokenUse): Promise<boolean> {
    return this.#append({ entry, use })
  }

  async list(
    organization: string,
    filter: AuditFilter,
    before: number | undefined,
    limit: number,
  ): Promise<{ items: AuditEntry[]; more: boolean }> {
    const { rest, values } = auditQuery(organization, filter, before, limit + 1)
    const rows = selectAll(this.#file, listedColumns, rest, ...values)
    return { items: rows.slice(0, limit).map(toEntry), more: rows.length > limit }
  }

  expire(before: number, limit: number): Promise<number> {
    return this.#file.write(() => {
      this.#file.statement(KEEP_FROM).run(before)
      this.#file.statement(FORGET_POLICIES).run(before)
      const organizations = this.#file.statement('SELECT organizationId AS id FROM organizations').all() as unknown as {
        id: string
      }[]
      let removed = 0
      for (const { id } of organizations) {
        if (removed === limit) break
        removed += Number(this.#file.statement(REMOVE).run(id, before, limit - removed).changes)
      }
      return removed
    })
  }

  /** Whether it was written; false: its token was claimed before. */
  async #append(one: Appending): Promise<boolean> {
    this.#group ??= this.#beginGroup()
    const { appending, written } = this.#group
    const place = appending.push(one) - 1
    const outcome = (await written)[place]
    if (outcome === 'no organization') throw missingOrganization(one.entry)
    return outcome === 'written'
  }

  #beginGroup(): Group {
    const appending: Appending[] = []
    const close = (): void => {
      this.#group = undefined
    }
    const written = this.#file.write(() => {
      close()
      return this.#write(appending)
    })
    // If the commit could not begin, the job was not called.
    written.catch(close)
    return { appending, written }
  }

  /** Writes the appended entries, in a job of the file. */
  #write(appending: readonly Appending[]): readonly Outcome[] {
    const outcomes = appending.map((one): Outcome => (this.#isClaimed(one) ? 'written' : 'claimed before'))
    const granted = [...appending.entries()].filter(([place]) => outcomes[place] === 'written')
    for (const [organizationId, own] of Map.groupBy(granted, ([, { entry }]) => entry.organizationId)) {
      const entries = own.map(([, { entry }]) => entry)
      if (writeEntries(this.#file, organizationId, entries) !== undefined) continue
      for (const [place] of own) outcomes[place] = 'no organization'
    }
    return outcomes
  }

  /** Whether the token, if there is one, is claimed by this entry. */
  #isClaimed({ entry, use }: Appending): boolean {
    if (use === undefined) return true
    this.#file.statement(FORGET_CLAIMS).run(this.#clock.now())
    const until = Math.ceil(use.timeExpires) + CLAIM_KEPT_MS
    return Number(this.#file.statement(CLAIM).run(useHash(entry.organizationId, use), until).changes) > 0
  }
}
