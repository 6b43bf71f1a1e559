import type { SigningKey } from '#services/identity/domain/signing-key.ts'
import type { SigningKeys } from '#services/identity/ports/signing-keys.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

interface SigningKeyRow {
  readonly kid: string
  readonly x: string
  readonly y: string
  readonly sealed: Uint8Array
  readonly time_created: number
  readonly time_used: number
}

const ALL = 'SELECT kid, x, y, sealed, time_created, time_used FROM signing_keys ORDER BY seq'
const INSERT = 'INSERT INTO signing_keys (seq, kid, x, y, sealed, time_created, time_used) VALUES (?, ?, ?, ?, ?, ?, ?)'

/** The signing keys in the service's SQLite file, which is closed by whoever opened it. */
export class SqliteSigningKeys implements SigningKeys {
  readonly #file: SqliteFile

  constructor(file: SqliteFile) {
    this.#file = file
  }

  async list(): Promise<readonly SigningKey[]> {
    return this.#read()
  }

  revise(decide: Parameters<SigningKeys['revise']>[0]): ReturnType<SigningKeys['revise']> {
    return this.#file.write(() => {
      const before = this.#read()
      const after = decide(before)
      if (after === undefined) return before
      this.#file.statement('DELETE FROM signing_keys').run()
      for (const [seq, { kid, x, y, sealed, timeCreated, timeUsed }] of after.entries()) {
        this.#file.statement(INSERT).run(seq, kid, x, y, sealed, timeCreated, timeUsed)
      }
      return after
    })
  }

  #read(): readonly SigningKey[] {
    const rows = this.#file.statement(ALL).all() as unknown as SigningKeyRow[]
    return rows.map(({ kid, x, y, sealed, time_created: timeCreated, time_used: timeUsed }) => {
      return { kid, x, y, sealed, timeCreated, timeUsed }
    })
  }
}
