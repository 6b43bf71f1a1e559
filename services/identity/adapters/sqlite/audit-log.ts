import type { AuditEntry } from '#gen/portico/identity/v1/federation_pb.js'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { AuditFilter, AuditLog, TokenUse } from '#services/identity/ports/audit-log.ts'
import type { Clock } from '#shared/clock.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectAll } from '#shared/stores/sqlite-table.ts'
import { audit, CLAIM_KEPT_MS, toEntry, useHash } from '../tables/audit.ts'
import { missingOrganization, writeEntries } from './audit-entries.ts'

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

/**
 * If a window of time has more entries than this, they are not searched for its bounds, since most pages fill up
 * before.
 */
const FEW = 20_000
const IN_WINDOW = `(SELECT position FROM audit INDEXED BY auditByTime
  WHERE organizationId = ? AND time >= ? AND time < ? LIMIT ${FEW + 1})`
// Without bounds for the position, a search by time would read the whole log. Times need not rise with positions.
const WINDOW = `time >= ? AND time < ?
  AND position >= (SELECT iif(count(*) > ${FEW}, 0, min(position)) FROM ${IN_WINDOW})
  AND position <= (SELECT iif(count(*) > ${FEW}, ${Number.MAX_SAFE_INTEGER}, max(position)) FROM ${IN_WINDOW})`

type Term = readonly [sql: string, ...values: readonly (string | number | undefined)[]]

/** Finds entries of an organization that match a filter, newest first, before a position; `rest` follows columns. */
function auditQuery(
  organization: string,
  filter: AuditFilter,
  before: number | undefined,
  limit: number,
): { readonly rest: string; readonly values: readonly (string | number)[] } {
  const { kind, policyId, issuerId, keyId, reason, subject, since = 0, until = Number.MAX_SAFE_INTEGER } = filter
  const window = [since, until, organization, since, until, organization, since, until]
  const isTimed = filter.since !== undefined || filter.until !== undefined
  const terms: readonly Term[] = [
    ['organizationId = ?', organization],
    ['position < ?', before],
    ['kind = ?', kind],
    // SQLite uses the partial index of the rarer kinds only if the query repeats its condition.
    [`kind <> ${Kind.EXCHANGE_ACCEPTED} AND ?`, kind === undefined || kind === Kind.EXCHANGE_ACCEPTED ? undefined : 1],
    ['policyId = ?', policyId],
    ['issuerId = ?', issuerId],
    ['keyId = ?', keyId],
    ['reason = ?', reason],
    ['subject = ?', subject],
    [WINDOW, ...(isTimed ? window : [undefined])],
  ]
  const present = terms.filter(([, ...values]) => !values.includes(undefined))
  const where = present.map(([term]) => term).join(' AND ')
  const values = present.flatMap(([, ...each]) => each) as (string | number)[]
  return { rest: `FROM audit WHERE ${where} ORDER BY position DESC LIMIT ?`, values: [...values, limit] }
}
