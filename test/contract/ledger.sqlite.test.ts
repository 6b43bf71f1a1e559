import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteLedger } from '#services/inference/adapters/sqlite/ledger.ts'
import { ledgerSuite } from './ledger.suite.ts'

async function makeStore() {
  const directory = await mkdtemp(join(tmpdir(), 'portico-ledger-'))
  return {
    open: SqliteLedger.open.bind(undefined, join(directory, 'inference.sqlite')),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

ledgerSuite('SQLite', makeStore, { skip: false })
