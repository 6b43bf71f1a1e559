import type { ReplayClaims, TokenUse } from '#services/identity/ports/replay-claims.ts'
import type { Clock } from '#shared/clock.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { useHash } from '../stored/use-hash.ts'

/** A clock that was ahead and steps back must not let a token pass again. */
const KEPT_MS = 86_400_000

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
      this.#file.statement(FORGET).run(this.#clock.now() - KEPT_MS)
      const insert = 'INSERT INTO replay_claims (hash, until) VALUES (?, ?) ON CONFLICT DO NOTHING'
      return Number(this.#file.statement(insert).run(useHash(use), Math.ceil(until)).changes) > 0
    })
  }
}
