import { basename, dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '#shared/config/config.ts'
import { makeDataDirectory } from './data-directory.ts'

/** Another process has the file open, or this one has it open already. Reported in one line that names the setting. */
export class SqliteBusyError extends ConfigError {
  constructor(path: string, options: ErrorOptions) {
    super([{ variable: 'PORTICO_DATA_DIR', problem: 'is in use' }], options)
    this.message = `${path} is in use by another process: set PORTICO_DATA_DIR to another folder`
  }
}

/**
 * Opens a SQLite file (WAL, synchronous=FULL), which is made when it is missing, and does the first work in it, in one
 * transaction. `exclusive` keeps every other process out for as long as the file is open. Throws ConfigError in one line when
 * the file cannot be used, and what the work throws when that is one.
 */
export function openDatabase(path: string, exclusive: boolean, begin: (database: DatabaseSync) => void): DatabaseSync {
  makeDataDirectory(dirname(path), basename(path))
  let database: DatabaseSync
  try {
    database = new DatabaseSync(path, { timeout: exclusive ? 0 : 5_000 })
  } catch (error) {
    throw unusable(path, error)
  }
  try {
    if (exclusive) database.exec('PRAGMA locking_mode = EXCLUSIVE')
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
    // What a savepoint would undo is kept in memory: in a temporary file it costs a third of a write's CPU time.
    database.exec('PRAGMA temp_store = MEMORY')
    inTransaction(database, () => begin(database))
    return database
  } catch (error) {
    database.close()
    if (error instanceof ConfigError) throw error
    if (error instanceof Error && /database is locked/.test(error.message)) {
      throw new SqliteBusyError(path, { cause: error })
    }
    throw unusable(path, error)
  }
}

/** Runs work in a transaction of its own, which is undone when it throws. */
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
