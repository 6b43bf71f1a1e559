import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { FailedStepError, lineOf, type ReportStep, refuseNewer, requireLatest, type SchemaStep } from './schema-step.ts'
import { inTransaction, openDatabase } from './sqlite-database.ts'

/**
 * A step that changes a SQLite file. It runs in one transaction together with the change of the version, and must be
 * synchronous.
 */
export type SqliteStep = SchemaStep<DatabaseSync, void>

/** A SQLite file, and the steps that lead to its schema; its version is `PRAGMA user_version`. */
export interface SqliteSchema {
  readonly path: string
  readonly steps: readonly SqliteStep[]
}

/**
 * Creates the schema in an empty file, and throws unless the file has the latest one (`requireLatest`). Must be called
 * in a transaction.
 */
export function prepareSchema(database: DatabaseSync, { path, steps }: SqliteSchema): void {
  const version = versionOf(database)
  if (version === 'empty') for (const step of steps) run(database, step)
  else requireLatest(placeOf(path), version === 'unnumbered' ? 1 : version, steps)
}

/**
 * Migrates an existing file to the latest version, each step in a transaction of its own. Throws a ConfigError if a
 * newer program wrote it, or if another process has locked it.
 */
export function migrateSqlite({ path, steps }: SqliteSchema, exclusive: boolean, report: ReportStep): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return
  const database = openDatabase(path, exclusive, (opening) => refuseNewer(placeOf(path), numberOf(opening), steps))
  try {
    // A step may replace a table that others refer to.
    database.exec('PRAGMA foreign_keys = OFF')
    for (const step of steps) {
      if (numberOf(database) >= step.version) continue
      if (versionOf(database) !== 'unnumbered') report(lineOf(placeOf(path), step))
      // Another process may have run it meanwhile.
      try {
        inTransaction(database, () => numberOf(database) < step.version && run(database, step))
      } catch (error) {
        throw new FailedStepError(placeOf(path), step, error)
      }
    }
  } finally {
    database.close()
  }
}

function run(database: DatabaseSync, { version, up }: SqliteStep): void {
  up(database)
  database.exec(`PRAGMA user_version = ${version}`)
}

/** Files from before versions have the first version, without a number. */
function versionOf(database: DatabaseSync): number | 'unnumbered' | 'empty' {
  const version = numberOf(database)
  if (version !== 0) return version
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined ? 'empty' : 'unnumbered'
}

function numberOf(database: DatabaseSync): number {
  return database.prepare('PRAGMA user_version').get()?.user_version as number
}

function placeOf(path: string): { readonly name: string; readonly setting: string } {
  return { name: path, setting: 'PORTICO_DATA_DIR' }
}
