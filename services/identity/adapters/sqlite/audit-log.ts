import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditEntry, AuditEvent } from '#services/identity/domain/audit.ts'
import type { AuditFilter, AuditLog, ListedAuditEntry, TokenUse } from '#services/identity/ports/audit-log.ts'
import type { Clock } from '#shared/clock.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { StoreThread } from '#shared/stores/thread/store-thread.ts'
import { toEntry } from '../stored/records.ts'
import { CLAIM_KEPT_MS, useHash } from '../stored/use-hash.ts'
import { entryRowOf, missingOrganization } from './audit-entries.ts'
import type { AppendCall, AuditFile, Outcome } from './audit-file.ts'
import { auditQuery } from './audit-query.ts'

interface StoredEntry {
  readonly position: number
  readonly time: number
  readonly event: string
}

const KEEP_FROM = 'UPDATE audit_retention SET kept_from = ?1 WHERE kept_from < ?1'
const REMOVE = `DELETE FROM audit_entries WHERE organization_id = ?1 AND position IN
  (SELECT position FROM audit_entries WHERE organization_id = ?1 AND time < ?2 LIMIT ?3)`
const FORGET_POLICIES = 'DELETE FROM deleted_policies WHERE time < ?'

/** The most turns of the event loop for which entries are gathered. */
const MOST_TURNS = 8

/** An entry to be written, and who waits for it. */
interface Waiting {
  readonly call: AppendCall
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/**
 * The audit log in SQLite: triggers refuse to change an entry, or to remove one before its time. A thread of its own writes
 * exchanges, so that the event loop never waits for the disk. Entries that are appended within a few turns, or during a
 * commit, share the next one.
 */
export class SqliteAuditLog implements AuditLog, AsyncDisposable {
  readonly #file: SqliteFile
  readonly #clock: Clock
  readonly #thread: StoreThread<AuditFile>
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined

  /** `path` is where the file is. */
  constructor(file: SqliteFile, path: string, clock: Clock) {
    this.#file = file
    this.#clock = clock
    const code = new URL('./audit-thread.ts', import.meta.url)
    this.#thread = new StoreThread({ name: 'the audit log', code, path, clock })
  }

  async append(entry: AuditEntry): Promise<void> {
    await this.#append(entry, undefined)
  }

  appendOnce(entry: AuditEntry, use: TokenUse): Promise<boolean> {
    const until = Math.ceil(use.timeExpires) + CLAIM_KEPT_MS
    return this.#append(entry, { hash: useHash(entry.organizationId, use), until })
  }

  async list(
    organization: string,
    filter: AuditFilter,
    before: number | undefined,
    limit: number,
  ): Promise<{ items: readonly ListedAuditEntry[]; more: boolean }> {
    const { sql, values } = auditQuery(organization, filter, before, limit + 1)
    const rows = this.#file.statement(sql).all(...values) as unknown as StoredEntry[]
    const items = rows.slice(0, limit).map(({ position, time, event }) => {
      return { position, entry: toEntry(organization, time, JSON.parse(event) as AuditEvent) }
    })
    return { items, more: rows.length > limit }
  }

  expire(before: number, limit: number): Promise<number> {
    return this.#file.write(() => {
      this.#file.statement(KEEP_FROM).run(before)
      this.#file.statement(FORGET_POLICIES).run(before)
      const organizations = this.#file.statement('SELECT id FROM organizations').all() as unknown as { id: string }[]
      let removed = 0
      for (const { id } of organizations) {
        if (removed === limit) break
        removed += Number(this.#file.statement(REMOVE).run(id, before, limit - removed).changes)
      }
      return removed
    })
  }

  /** Writes what was appended before; later calls reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing
    await this.#thread[Symbol.asyncDispose]()
  }

  /** Whether it was written; false: its token was claimed before. */
  async #append(entry: AuditEntry, claim: AppendCall['claim']): Promise<boolean> {
    const call = { ...entryRowOf(entry), claim }
    const outcome = await new Promise<Outcome>((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject })
      this.#writing ??= this.#write()
    })
    if (outcome === 'no organization') throw missingOrganization(entry.organizationId)
    return outcome === 'written'
  }

  /** Writes the waiting entries, and those that come meanwhile, one commit after another. */
  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather()
      const group = this.#waiting
      this.#waiting = []
      await this.#writeGroup(group)
    }
    this.#writing = undefined
  }

  /** Waits as long as each turn of the event loop brings more entries, since a commit costs far more than an entry. */
  async #gather(): Promise<void> {
    let gathered = 0
    for (let turn = 0; turn < MOST_TURNS && this.#waiting.length > gathered; turn++) {
      gathered = this.#waiting.length
      await nextTurn()
    }
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const calls = group.map(({ call }) => call)
    try {
      const outcomes = await this.#file.writeElsewhere(() => {
        return this.#thread.callNow<readonly Outcome[]>('append', [calls, this.#clock.now()])
      })
      for (const [place, { resolve }] of group.entries()) resolve(outcomes[place] as Outcome)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
}
