import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQLITE } from '#services/identity/adapters/schema.ts'
import { SqliteSigningKeys } from '#services/identity/adapters/sqlite/signing-keys.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { signingKeysSuite } from './signing-keys.suite.ts'

signingKeysSuite('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-signing-keys-'))
  return {
    async open() {
      const file = new SqliteFile(join(directory, 'identity.sqlite'), { schema: SQLITE, exclusive: false })
      return Object.assign(new SqliteSigningKeys(file), { [Symbol.asyncDispose]: () => file[Symbol.asyncDispose]() })
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
})
