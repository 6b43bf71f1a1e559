import type { SigningKey } from '#services/identity/domain/signing-key.ts'
import type { SigningKeys } from '#services/identity/ports/signing-keys.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectAll } from '#shared/stores/sqlite-table.ts'
import { fromRow } from '#shared/stores/table.ts'
import { signingKeys } from '../tables/signing-keys.ts'

const insert = insertInto(signingKeys)

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
      const rows = after.map((key, seq) => ({ ...key, seq }))
      insert(this.#file, rows)
      return after
    })
  }

  #read(): readonly SigningKey[] {
    const rows = selectAll(this.#file, signingKeys.columns, 'FROM signing_keys ORDER BY seq')
    return rows.map((row) => fromRow(signingKeys.columns, row))
  }
}
