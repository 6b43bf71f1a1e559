import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { diskProblem, FILE_GONE } from './disk-problem.ts'
import { openDatabase } from './sqlite-database.ts'
import { prepareSchema, type SqliteStep } from './sqlite-schema.ts'

/** How a file is opened. */
export interface SqliteOptions {
  /** The steps that lead to its form. */
  readonly steps: readonly SqliteStep[]
  /** Keeps every other process out for as long as the file is open; a crash lets go of it. */
  readonly exclusive: boolean
  /** Called in each transaction once its jobs have run, for what several of them have changed; what it throws fails them all. */
  readonly beforeCommit?: () => void
}

const PROBES = 'CREATE TABLE IF NOT EXISTS store_probes (id INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT'
const PROBE = 'INSERT INTO store_probes VALUES (1, 1) ON CONFLICT DO UPDATE SET count = count + 1'

/** How often it is looked whether the file is where it was, in milliseconds. */
const LOOK_MS = 1_000

interface Job {
  readonly undoesItself: boolean
  run(): void
  committed(): void
  failed(error: unknown): void
}

/**
 * A SQLite file with group commit: all writes of one turn of the event loop share one transaction (WAL,
 * synchronous=FULL) and resolve after its commit. Of jobs that share one, each that does not undo itself has a savepoint, so that
 * one that throws undoes only itself. Reads see committed work only, since nothing else runs while a transaction is open. Used by
 * adapters only (ADR 0002). An empty file gets its form; an older one throws `OlderStoreError`, a newer one ConfigError. Once it turns out
 * to be damaged, or is gone from where it was, nothing more is written: whatever were accepted could be lost.
 */
export class SqliteFile implements AsyncDisposable {
  readonly #path: string
  readonly #beforeCommit: () => void
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #rows = new Map<string, StatementSync>()
  #jobs: Job[] = []
  #scheduled = false
  #closed = false
  /** Why nothing more is written. */
  #damage: unknown
  readonly #look: NodeJS.Timeout

  constructor(path: string, options: SqliteOptions) {
    this.#path = path
    this.#beforeCommit = options.beforeCommit ?? (() => {})
    this.#database = openDatabase(path, options.exclusive, (database) => {
      prepareSchema(database, { path, steps: options.steps })
      database.exec(PROBES)
    })
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

  /**
   * Runs a job in this turn's transaction; resolves with its answer after the commit. The job must not wait. When it
   * throws, what it wrote is undone and the promise rejects with what it threw; its neighbours are not touched. `undoesItself`: when it
   * throws it has written nothing, as one statement that fails; it goes without a savepoint, which costs as much as a statement.
   */
  write<T>(job: () => T, { undoesItself = false }: { readonly undoesItself?: boolean } = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) throw new Error('The SQLite file is closed')
      if (this.#damage !== undefined) throw this.#damage
      let answer: T
      this.#jobs.push({
        undoesItself,
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
    clearInterval(this.#look)
    this.#statements.clear()
    this.#rows.clear()
    this.#database.close()
  }

  #flush(): void {
    this.#scheduled = false
    const jobs = this.#jobs
    this.#jobs = []
    if (jobs.length === 0) return
    let done = jobs
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.statement('BEGIN IMMEDIATE').run()
      if (jobs.length > 1) done = jobs.filter((job) => this.#runAlone(job))
      else for (const job of jobs) job.run()
      this.#beforeCommit()
      this.statement('COMMIT').run()
    } catch (error) {
      this.#rollBack()
      const named = this.#named(error)
      for (const job of jobs) job.failed(named)
      return
    }
    for (const job of done) job.committed()
  }

  /** What a disk that fails does not undo now is undone before the next transaction: whoever waits for this one is answered now. */
  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    } catch {}
  }

  /** Whether the job did its work. */
  #runAlone(job: Job): boolean {
    const { undoesItself } = job
    if (!undoesItself) this.statement('SAVEPOINT job').run()
    try {
      job.run()
    } catch (error) {
      // A full disk, for one, has undone the whole transaction already.
      if (!this.#database.isTransaction) throw error
      if (!undoesItself) this.#database.exec('ROLLBACK TO job; RELEASE job')
      job.failed(this.#named(error))
      return false
    }
    if (!undoesItself) this.statement('RELEASE job').run()
    return true
  }

  /** An error of SQLite names no file. */
  #named(error: unknown): unknown {
    const problem = diskProblem(error)
    if (problem !== undefined && error instanceof Error) error.message = `${this.#path}: ${error.message}`
    if (problem?.kind === 'damaged') this.#damage ??= error
    return error
  }
}
