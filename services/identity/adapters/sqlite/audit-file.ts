import { SqliteFile } from '#shared/stores/sqlite.ts'
import { type EntryRow, writeEntries } from './audit-entries.ts'
import { STEPS } from './schema.ts'

const CLAIM = 'INSERT INTO replay_claims (hash, until) VALUES (?, ?) ON CONFLICT DO NOTHING'
// Each claim makes room for itself and one more.
const FORGET_CLAIMS = `DELETE FROM replay_claims WHERE hash IN
  (SELECT hash FROM replay_claims WHERE until < ? ORDER BY until LIMIT 2)`

/** An entry to be written, and the token to be claimed with it. */
export interface AppendCall extends EntryRow {
  readonly claim: { readonly hash: string; readonly until: number } | undefined
}

/** The result for an entry. */
export type Outcome = 'written' | 'claimed before' | 'no organization'

/** The audit log's own connection to the file, in the thread that writes it. */
export class AuditFile implements AsyncDisposable {
  readonly #file: SqliteFile

  constructor(path: string) {
    this.#file = new SqliteFile(path, { steps: STEPS, exclusive: false })
  }

  /** Writes entries in one commit; returns the result of each, in order. */
  append(calls: readonly AppendCall[], now: number): Promise<readonly Outcome[]> {
    return this.#file.write(() => {
      const outcomes = calls.map((call): Outcome => (this.#isClaimed(call, now) ? 'written' : 'claimed before'))
      const granted = [...calls.entries()].filter(([place]) => outcomes[place] === 'written')
      for (const [organizationId, own] of Map.groupBy(granted, ([, call]) => call.organizationId)) {
        const entries = own.map(([, { values }]) => values)
        if (writeEntries(this.#file, organizationId, entries) !== undefined) continue
        for (const [place] of own) outcomes[place] = 'no organization'
      }
      return outcomes
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }

  /** Whether the token, if there is one, is claimed by this entry. */
  #isClaimed({ claim }: AppendCall, now: number): boolean {
    if (claim === undefined) return true
    this.#file.statement(FORGET_CLAIMS).run(now)
    return Number(this.#file.statement(CLAIM).run(claim.hash, claim.until).changes) > 0
  }
}
