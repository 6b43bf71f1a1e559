import { hash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { LedgerJob } from './ledger-thread.ts'

/**
 * What a gateway with keys and a durable ledger cannot do without, and nothing else: it reads the key of each request,
 * opens a row that holds a cost of the key's account before the provider is called, and closes it afterwards. A thread
 * owns the file of the ledger; its commits serve all rows that came during the one before.
 */
export class ReferenceLedger {
  readonly #thread: Worker
  readonly #add: StatementSync
  #jobs: LedgerJob[] = []
  #waiting: PromiseWithResolvers<void>[] = []
  readonly #sent: PromiseWithResolvers<void>[][] = []

  constructor(directory: string) {
    const keys = new DatabaseSync(join(directory, 'keys.sqlite'))
    keys.exec('CREATE TABLE keys (digest TEXT PRIMARY KEY, id TEXT NOT NULL, most INTEGER NOT NULL) WITHOUT ROWID')
    this.#add = keys.prepare('INSERT INTO keys VALUES (?, ?, ?) RETURNING id')
    const read = keys.prepare('SELECT id FROM keys WHERE digest = ?')
    this.keyOf = (credential) => {
      const digest = hash('sha256', credential)
      return String((read.get(digest) ?? this.#add.get(digest, randomUUID(), 1_000_000))?.id)
    }
    const file = new URL('./ledger-thread.ts', import.meta.url)
    this.#thread = new Worker(file, { workerData: join(directory, 'ledger.sqlite') })
    this.#thread.on('message', () => {
      for (const { resolve } of this.#sent.shift() ?? []) resolve()
    })
  }

  /** The id of a key, which is made when it is first seen. */
  readonly keyOf: (credential: string) => string

  /** Resolves after the commit. Jobs of one turn are sent together. */
  write(job: LedgerJob): Promise<void> {
    const waiting = Promise.withResolvers<void>()
    if (this.#jobs.length === 0) setImmediate(() => this.#send())
    this.#jobs.push(job)
    this.#waiting.push(waiting)
    return waiting.promise
  }

  #send(): void {
    this.#thread.postMessage(this.#jobs)
    this.#sent.push(this.#waiting)
    this.#jobs = []
    this.#waiting = []
  }
}
