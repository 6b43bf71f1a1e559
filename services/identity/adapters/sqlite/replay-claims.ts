import type { ReplayClaims, TokenUse } from '#services/identity/ports/replay-claims.ts'
import type { Clock } from '#shared/clock.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { CLAIM_KEPT_MS, useHash } from '../stored/use-hash.ts'

// Each claim makes room for itself, and for one more.
const FORGET = `DELETE FROM replay_claims WHERE hash IN
  (SELECT hash FROM replay_claims WHERE until < ? ORDER BY until LIMIT 2)`

/** Claimed tokens in SQLite. */
export class SqliteReplayClaims implements ReplayClaims {
  readonly #file: SqliteFile
  readonly #clock: Clock

  constructor(file: SqliteFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  claim(use: TokenUse, until: number): Promise<boolean> {
    return this.#file.write(() => {
      this.#file.statement(FORGET).run(this.#clock.now() - CLAIM_KEPT_MS)
      const insert = 'INSERT INTO replay_claims (hash, until) VALUES (?, ?) ON CONFLICT DO NOTHING'
      return Number(this.#file.statement(insert).run(useHash(use), Math.ceil(until)).changes) > 0
    })
  }
}
