import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteIdentityStore } from '#services/identity/adapters/sqlite/identity-store.ts'
import { identityStoreSuite } from './identity-store.suite.ts'

identityStoreSuite('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-identity-'))
  return {
    open: async () => new SqliteIdentityStore(join(directory, 'identity.sqlite')),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
})
