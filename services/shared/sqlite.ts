import { basename, dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { ConfigError } from './config.ts'
import { makeDataDirectory } from './data-directory.ts'
import { diskProblem } from './disk-problem.ts'

/** How a file is opened. */
export interface SqliteOptions {
  /** Statements that bring the schema up to date; run in one transaction, each must be repeatable. */
  readonly schema: readonly string[]
  /** Keeps every other process out for as long as the file is open; a crash lets go of it. */
  readonly exclusive: boolean
}

const PROBES = 'CREATE TABLE IF NOT EXISTS store_probes (id INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT'
const PROBE = 'INSERT INTO store_probes VALUES (1, 1) ON CONFLICT DO UPDATE SET count = count + 1'

interface Job {
  run(): void
  committed(): void
  failed(error: unknown): void
}

/** Another process has the file open, or this one has it open already. Told in one line that names the setting. */
export class SqliteBusyError extends ConfigError {
  constructor(path: string, options: ErrorOptions) {
    super([{ variable: 'PORTICO_DATA_DIR', problem: 'is in use' }], options)
    this.message = `${path} is in use by another process: set PORTICO_DATA_DIR to another folder`
  }
}

/**
 * A SQLite file with group commit: all writes of one turn of the event loop share one transaction (WAL,
 * synchronous=FULL) and resolve after its commit. Each job has a savepoint, so that one that throws undoes only itself.
 * Reads see committed work only, since nothing else runs while a transaction is open. Used by adapters only (ADR 0002).
 */
export class SqliteFile implements AsyncDisposable {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #jobs: Job[] = []
  #scheduled = false
  #closed = false

  constructor(path: string, options: SqliteOptions) {
    this.#path = path
    makeDataDirectory(dirname(path), basename(path))
    this.#database = openDatabase(path, options.exclusive ? 0 : 5_000)
    try {
      if (options.exclusive) this.#database.exec('PRAGMA locking_mode = EXCLUSIVE')
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
      // What a savepoint would undo is kept in memory: in a temporary file it costs a third of a write's CPU time.
      this.#database.exec('PRAGMA temp_store = MEMORY')
      this.#database.exec(`BEGIN IMMEDIATE; ${[PROBES, ...options.schema].join(';\n')}; COMMIT`)
    } catch (error) {
      this.#database.close()
      throw isBusy(error) ? new SqliteBusyError(path, { cause: error }) : unusable(path, error)
    }
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

  /**
   * Runs a job in this turn's transaction; resolves with its answer after the commit. The job must not wait. When it
   * throws, what it wrote is undone and the promise rejects with what it threw; its neighbours are not touched.
   */
  write<T>(job: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) throw new Error('The SQLite file is closed')
      let answer: T
      this.#jobs.push({
        run: () => {
          answer = job()
        },
        committed: () => resolve(answer),
        failed: reject,
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
    this.#statements.clear()
    this.#database.close()
  }

  #flush(): void {
    this.#scheduled = false
    const jobs = this.#jobs
    this.#jobs = []
    if (jobs.length === 0) return
    const done: Job[] = []
    try {
      this.statement('BEGIN IMMEDIATE').run()
      for (const job of jobs) this.#runInSavepoint(job, done)
      this.statement('COMMIT').run()
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      const named = this.#named(error)
      for (const job of jobs) job.failed(named)
      return
    }
    for (const job of done) job.committed()
  }

  #runInSavepoint(job: Job, done: Job[]): void {
    this.statement('SAVEPOINT job').run()
    try {
      job.run()
    } catch (error) {
      // A full disk, for one, has undone the whole transaction already.
      if (!this.#database.isTransaction) throw error
      this.#database.exec('ROLLBACK TO job; RELEASE job')
      job.failed(this.#named(error))
      return
    }
    this.statement('RELEASE job').run()
    done.push(job)
  }

  /** An error of SQLite names no file. */
  #named(error: unknown): unknown {
    if (diskProblem(error) !== undefined && error instanceof Error) error.message = `${this.#path}: ${error.message}`
    return error
  }
}

/**
 * Locks a file that holds nothing else, which is made where there is none, until it is disposed. Throws SqliteBusyError, which
 * names `folder`, when somebody has locked it.
 */
export function lockFile(path: string, folder: string): Disposable {
  const database = openDatabase(path, 0)
  try {
    // With its journal in memory, a transaction that is never committed makes no other file and leaves this one empty.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw isBusy(error) ? new SqliteBusyError(folder, { cause: error }) : unusable(path, error)
  }
  return database
}

function openDatabase(path: string, timeout: number): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout })
  } catch (error) {
    throw unusable(path, error)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && /database is locked/.test(error.message)
}

function unusable(path: string, error: unknown): ConfigError {
  const problem = `${path} cannot be used: ${error instanceof Error ? error.message : error}`
  return new ConfigError([{ variable: 'PORTICO_DATA_DIR', problem }], { cause: error })
}
