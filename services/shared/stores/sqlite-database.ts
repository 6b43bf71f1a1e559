import { basename, dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '#shared/config/config-error.ts'
import { makeDataDirectory } from './data-directory.ts'

/** The file is open in another process, or already in this one. Reported in one line that says what to do. */
export class SqliteBusyError extends ConfigError {
  constructor(path: string, advice: string, options: ErrorOptions) {
    super([{ variable: 'PORTICO_DATA_DIR', problem: 'is in use' }], options)
    this.message = `${path} is in use by another process: ${advice}`
  }
}

/**
 * Opens a SQLite file (WAL, synchronous=FULL), creating it if it is missing, and does the first work in it, in one
 * transaction. `exclusive` locks out every other process for as long as the file is open. Throws a ConfigError of one
 * line if the file cannot be used, or if the work throws one.
 */
export function openDatabase(path: string, exclusive: boolean, begin: (database: DatabaseSync) => void): DatabaseSync {
  makeDataDirectory(dirname(path), basename(path))
  const database = openFile(path, exclusive ? 0 : 5_000)
  try {
    if (exclusive) database.exec('PRAGMA locking_mode = EXCLUSIVE')
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
    // The data for undoing a savepoint is kept in memory: in a temporary file it costs a third of the CPU time of a
    // write.
    database.exec('PRAGMA temp_store = MEMORY')
    inTransaction(database, () => begin(database))
    return database
  } catch (error) {
    database.close()
    if (error instanceof ConfigError) throw error
    throw isBusy(error)
      ? new SqliteBusyError(path, 'stop the server first, or wait for the other migration', { cause: error })
      : unusable(path, error)
  }
}

/** Several processes that want a lock at once block each other for a moment, after which one of them has it. */
const LOCK_MS = 1_000

/**
 * Locks a file that contains nothing, creating it if it is missing, until it is disposed. Throws a SqliteBusyError that
 * names `folder` if somebody else has locked it. Of several processes that try at the same moment, one succeeds.
 */
export function lockFile(path: string, folder: string): Disposable {
  const database = openFile(path, LOCK_MS)
  try {
    // With its journal in memory, a transaction that is never committed creates no other file and leaves this one
    // empty. There is no exclusive `locking_mode`, which would keep the locks passed on the way, and so block whoever
    // is ahead.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    const advice = 'stop it first, or set PORTICO_DATA_DIR to another folder'
    throw isBusy(error) ? new SqliteBusyError(folder, advice, { cause: error }) : unusable(path, error)
  }
  return database
}

function openFile(path: string, timeout: number): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout })
  } catch (error) {
    throw unusable(path, error)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && /database is locked/.test(error.message)
}

/** Runs work in a transaction of its own, which is rolled back if it throws. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    work()
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function unusable(path: string, error: unknown): ConfigError {
  const problem = `${path} cannot be used: ${error instanceof Error ? error.message : error}`
  return new ConfigError([{ variable: 'PORTICO_DATA_DIR', problem }], { cause: error })
}
