import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { lockFile, SqliteBusyError } from '#shared/stores/sqlite-database.ts'

/** A process that passes through the locks on its way and gives up while the other one tries. */
const PASSER = `
  const { DatabaseSync } = require('node:sqlite')
  const { parentPort, workerData } = require('node:worker_threads')
  const database = new DatabaseSync(workerData)
  database.exec('BEGIN; SELECT * FROM sqlite_schema')
  parentPort.postMessage('held')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
  database.close()`

test('a process that only tries to take the lock blocks nobody; one that holds it does', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-lock-'))
  try {
    const path = join(folder, 'lock')
    const passer = new Worker(PASSER, { eval: true, workerData: path })
    await once(passer, 'message')
    using _ = lockFile(path, folder)
    assert.throws(() => lockFile(path, folder), SqliteBusyError)
    await once(passer, 'exit')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
