import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { diskProblem, FILE_GONE } from './disk-problem.ts'
import { openDatabase } from './sqlite-database.ts'
import { type Job, SqliteJobs } from './sqlite-jobs.ts'
import { prepareSchema, type SqliteSchema } from './sqlite-schema.ts'

export interface SqliteOptions {
  readonly schema: SqliteSchema
  /** Locks out every other process for as long as the file is open; a crash releases the lock. */
  readonly exclusive: boolean
  /**
   * Called in each transaction after its jobs, to finish what several of them changed. If it throws, all of them fail.
   */
  readonly beforeCommit?: () => void
  /** Called when a transaction was rolled back: what its jobs left in memory is void. Some of them may run again. */
  readonly undone?: () => void
}

const PROBES = 'CREATE TABLE IF NOT EXISTS store_probes (id INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT'
const PROBE = 'INSERT INTO store_probes VALUES (1, 1) ON CONFLICT DO UPDATE SET count = count + 1'

/** Milliseconds between checks whether the file is still where it was. */
const LOOK_MS = 1_000

/**
 * A SQLite file with group commit: all writes of one turn of the event loop share one transaction (WAL,
 * synchronous=FULL) and resolve after its commit. A job that throws undoes only its own writes (`SqliteJobs`). Reads
 * see only committed data, since nothing else runs while a transaction is open. Used by adapters only (ADR 0002). The
 * schema is created in an empty file; an older file throws `OlderStoreError`, any other one ConfigError. Once the file
 * turns out to be damaged, or is gone from its place, nothing more is written, since it could be lost.
 */
export class SqliteFile implements AsyncDisposable {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #transactions: SqliteJobs
  readonly #statements = new Map<string, StatementSync>()
  readonly #rows = new Map<string, StatementSync>()
  #jobs: Job[] = []
  #scheduled = false
  #closed = false
  #version = 0
  #versionOfOthers: unknown
  /** Why nothing more is written. */
  #damage: unknown
  readonly #look: NodeJS.Timeout

  constructor(path: string, options: SqliteOptions) {
    this.#path = path
    this.#database = openDatabase(path, options.exclusive, (database) => {
      prepareSchema(database, path, options.schema)
      database.exec(PROBES)
    })
    this.#transactions = new SqliteJobs(this.#database, options)
    const files = [path, `${path}-wal`].map((name) => ({ name, opened: statSync(name) }))
    this.#look = setInterval(() => {
      const gone = files.find(({ name, opened }) => {
        const stats = statSync(name, { throwIfNoEntry: false })
        return stats?.dev !== opened.dev || stats.ino !== opened.ino
      })
      if (gone !== undefined) this.#giveUp(gone.name)
    }, LOOK_MS).unref()
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** A prepared statement, created once for each text. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  /** A prepared statement whose rows are arrays of column values. */
  rows(sql: string): StatementSync {
    let statement = this.#rows.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      statement.setReturnArrays(true)
      this.#rows.set(sql, statement)
    }
    return statement
  }

  /** A number that changes with each commit to the file by any process. Reading it costs a fraction of a query. */
  version(): number {
    const { 0: others } = this.rows('PRAGMA data_version').get() as Readonly<Record<number, unknown>>
    if (others !== this.#versionOfOthers) {
      this.#versionOfOthers = others
      this.#version += 1
    }
    return this.#version
  }

  /**
   * Runs a job in this turn's transaction; resolves to its result after the commit. The job must be synchronous, and
   * may run twice. If it throws, its writes are undone and the promise rejects with that error; its neighbours are not
   * affected.
   */
  write<T>(job: () => T): Promise<T> {
    return this.decideAndWrite(nothing, job)
  }

  /** The same for a job that refuses in `decide`, before it writes anything, so that there is nothing to undo. */
  decideAndWrite<D, T>(decide: () => D, write: (decided: D) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) throw new Error('The SQLite file is closed')
      if (this.#damage !== undefined) throw this.#damage
      let decided: D
      let answer: T
      this.#jobs.push({
        decide: () => {
          decided = decide()
        },
        write: () => {
          answer = write(decided)
        },
        committed: () => resolve(answer),
        failed: (error) => reject(this.#named(error)),
      })
      if (this.#scheduled) return
      this.#scheduled = true
      setImmediate(() => this.#flush())
    })
  }

  /** Writes something small of its own, to check that the file can be written. */
  async probe(): Promise<void> {
    await this.write(() => this.statement(PROBE).run())
  }

  /** Commits what was submitted before, then closes the file; later writes reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#flush()
    this.#closed = true
    clearInterval(this.#look)
    this.#statements.clear()
    this.#rows.clear()
    this.#database.close()
  }

  /**
   * Writes nothing more, not even what this turn has submitted, and saves what is in a log that was removed, since only
   * this process can still read it.
   */
  #giveUp(name: string): void {
    clearInterval(this.#look)
    const gone = new Error(`${name} was removed or replaced while it was open`)
    this.#damage ??= Object.assign(gone, { code: FILE_GONE })
    for (const { failed } of this.#jobs.splice(0)) failed(this.#damage)
    if (name === this.#path) return
    try {
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch {
      // The disk may be full; closing the file tries once more.
    }
  }

  #flush(): void {
    this.#scheduled = false
    const jobs = this.#jobs
    this.#jobs = []
    if (jobs.length > 0) this.#transactions.run(jobs)
    // What was read during the transaction may have been undone.
    this.#version += 1
  }

  /** An error of SQLite names no file. */
  #named(error: unknown): unknown {
    const problem = diskProblem(error)
    const names = `${this.#path}: `
    if (problem !== undefined && error instanceof Error && !error.message.startsWith(names)) {
      error.message = `${names}${error.message}`
    }
    if (problem?.kind === 'damaged') this.#damage ??= error
    return error
  }
}

function nothing(): void {}
