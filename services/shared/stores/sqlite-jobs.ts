import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Work in a transaction that others share. */
export interface Job {
  /** Reads, and throws if it refuses. */
  decide(): void
  write(): void
  committed(): void
  failed(error: unknown): void
}

/** See SqliteOptions. */
export interface JobHooks {
  readonly beforeCommit?: (() => void) | undefined
  readonly undone?: (() => void) | undefined
}

/**
 * Runs jobs in transactions. One that throws undoes only its own writes. Since almost none throws, they run without
 * savepoints, which copy each page that a job writes. If one throws that has already written, the transaction is
 * repeated with savepoints, so jobs may run twice.
 */
export class SqliteJobs {
  readonly #database: DatabaseSync
  readonly #hooks: JobHooks
  readonly #begin: StatementSync
  readonly #commit: StatementSync

  constructor(database: DatabaseSync, hooks: JobHooks) {
    this.#database = database
    this.#hooks = hooks
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
  }

  /** Runs jobs in one transaction and commits it. If that fails, all of them fail. */
  run(jobs: readonly Job[]): void {
    let done: readonly Job[]
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#begin.run()
      done = this.#runTogether(jobs)
      this.#hooks.beforeCommit?.()
      this.#commit.run()
    } catch (error) {
      this.#rollBack()
      for (const job of jobs) job.failed(error)
      return
    }
    for (const job of done) job.committed()
  }

  /**
   * If a failing disk cannot roll back now, the next transaction does so first: whoever waits for this one is answered
   * now.
   */
  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    } catch {}
    this.#hooks.undone?.()
  }

  /** Returns the jobs that did their work. */
  #runTogether(jobs: readonly Job[]): readonly Job[] {
    const decided: Job[] = []
    try {
      for (const job of jobs) {
        if (!this.#decides(job)) continue
        decided.push(job)
        job.write()
      }
      return decided
    } catch (error) {
      if (jobs.length === 1) throw error
      this.#requireTransaction(error)
    }
    this.#database.exec('ROLLBACK')
    this.#hooks.undone?.()
    this.#begin.run()
    const left = [...decided, ...jobs.slice(jobs.indexOf(decided.at(-1) as Job) + 1)]
    return left.filter((job) => this.#decides(job) && this.#writes(job))
  }

  #decides(job: Job): boolean {
    try {
      job.decide()
      return true
    } catch (error) {
      this.#requireTransaction(error)
      job.failed(error)
      return false
    }
  }

  #writes(job: Job): boolean {
    this.#database.exec('SAVEPOINT job')
    try {
      job.write()
    } catch (error) {
      this.#requireTransaction(error)
      this.#database.exec('ROLLBACK TO job; RELEASE job')
      job.failed(error)
      return false
    }
    this.#database.exec('RELEASE job')
    return true
  }

  /** An error such as a full disk may have rolled back the whole transaction. */
  #requireTransaction(error: unknown): void {
    if (!this.#database.isTransaction) throw error
  }
}
