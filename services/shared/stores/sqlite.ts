import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { diskProblem, FILE_GONE } from './disk-problem.ts'
import { openDatabase } from './sqlite-database.ts'
import { type Job, SqliteJobs } from './sqlite-jobs.ts'
import { prepareSchema, type SqliteStep } from './sqlite-schema.ts'

/** How a file is opened. */
export interface SqliteOptions {
  /** The steps that lead to its form. */
  readonly steps: readonly SqliteStep[]
  /** Keeps every other process out for as long as the file is open; a crash lets go of it. */
  readonly exclusive: boolean
  /** Called in each transaction once its jobs have run, for what several of them have changed; what it throws fails them all. */
  readonly beforeCommit?: () => void
  /** Called when a transaction was undone: what its jobs have left in memory counts no more. Some of them may run again. */
  readonly undone?: () => void
}

const PROBES = 'CREATE TABLE IF NOT EXISTS store_probes (id INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT'
const PROBE = 'INSERT INTO store_probes VALUES (1, 1) ON CONFLICT DO UPDATE SET count = count + 1'

/** How often it is looked whether the file is where it was, in milliseconds. */
const LOOK_MS = 1_000

/**
 * A SQLite file with group commit: all writes of one turn of the event loop share one transaction (WAL,
 * synchronous=FULL) and resolve after its commit. A job that throws undoes only itself (`SqliteJobs`). Reads see committed work only,
 * since nothing else runs while a transaction is open. Used by adapters only (ADR 0002). An empty file gets its form; an older one throws
 * `OlderStoreError`, a newer one ConfigError. Once it turns out to be damaged, or is gone from where it was, nothing more is written:
 * whatever were accepted could be lost.
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
      prepareSchema(database, { path, steps: options.steps })
      database.exec(PROBES)
    })
    this.#transactions = new SqliteJobs(this.#database, options)
    const { dev, ino } = statSync(path)
    this.#look = setInterval(() => {
      const found = statSync(path, { throwIfNoEntry: false })
      if (found?.dev === dev && found.ino === ino) return
      this.#damage ??= Object.assign(new Error(`${path} was removed or replaced while it was open`), {
        code: FILE_GONE,
      })
    }, LOOK_MS).unref()
  }

  /** A prepared statement, made once for each text. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  /** Likewise, one whose rows are arrays of the values of their columns, in that order. */
  rows(sql: string): StatementSync {
    let statement = this.#rows.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      statement.setReturnArrays(true)
      this.#rows.set(sql, statement)
    }
    return statement
  }

  /** Another number after each commit to the file, whichever process makes it: to read it costs a fraction of what a read does. */
  version(): number {
    const { 0: others } = this.rows('PRAGMA data_version').get() as Readonly<Record<number, unknown>>
    if (others !== this.#versionOfOthers) {
      this.#versionOfOthers = others
      this.#version += 1
    }
    return this.#version
  }

  /**
   * Runs a job in this turn's transaction; resolves with its answer after the commit. The job must not wait, and may run twice. When it
   * throws, what it wrote is undone and the promise rejects with what it threw; its neighbours are not touched.
   */
  write<T>(job: () => T): Promise<T> {
    return this.decideAndWrite(nothing, job)
  }

  /** Likewise, for a job that refuses in `decide`, before it writes anything: then there is nothing to undo. */
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

  /** Writes something small of its own, as a sign that the file can be written. */
  async probe(): Promise<void> {
    await this.write(() => this.statement(PROBE).run())
  }

  /** Commits what was handed in before, then closes the file; later writes reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#flush()
    this.#closed = true
    clearInterval(this.#look)
    this.#statements.clear()
    this.#rows.clear()
    this.#database.close()
  }

  #flush(): void {
    this.#scheduled = false
    const jobs = this.#jobs
    this.#jobs = []
    if (jobs.length > 0) this.#transactions.run(jobs)
    // What was read in the midst of it may have been undone.
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
