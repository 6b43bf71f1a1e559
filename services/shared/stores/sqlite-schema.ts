import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import {
  FailedStepError,
  latestForm,
  lineOf,
  type ReportStep,
  refuseForeign,
  requireLatest,
  type SchemaStep,
  type StoreForm,
  type StorePlace,
} from './schema-step.ts'
import { inTransaction, openDatabase } from './sqlite-database.ts'

/**
 * A step that changes a SQLite file. It runs in one transaction together with the change of the version, and must be
 * synchronous.
 */
export type SqliteStep = SchemaStep<DatabaseSync, void>

/** The tables of a SQLite file. Its version is `PRAGMA user_version`, and its digest `PRAGMA application_id`. */
export interface SqliteSchema {
  /** The statements that create them as they are now. */
  readonly create: readonly string[]
  readonly digest: number
  readonly steps: readonly SqliteStep[]
}

/** Creates the tables in an empty file, and throws unless the file has their form. Must be called in a transaction. */
export function prepareSchema(database: DatabaseSync, path: string, schema: SqliteSchema): void {
  const latest = latestForm(schema)
  const stored = formOf(database)
  if (stored === undefined) {
    database.exec(schema.create.join(';\n'))
    setForm(database, latest)
  } else {
    requireLatest(placeOf(path), stored, latest)
  }
}

/**
 * Migrates an existing file to the latest version, each step in a transaction of its own. Throws a ConfigError if a
 * newer program wrote it, or if another process has locked it.
 */
export function migrateSqlite(path: string, schema: SqliteSchema, exclusive: boolean, report: ReportStep): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return
  const { digest } = schema
  const database = openDatabase(path, exclusive, (opening) => {
    const stored = formOf(opening)
    if (stored !== undefined) refuseForeign(placeOf(path), stored, latestForm(schema))
  })
  try {
    // A step may replace a table that others refer to.
    database.exec('PRAGMA foreign_keys = OFF')
    const isDone = ({ version }: SqliteStep): boolean => version <= (formOf(database)?.version ?? version)
    for (const step of schema.steps) {
      if (isDone(step)) continue
      report(lineOf(placeOf(path), step))
      try {
        inTransaction(database, () => {
          // Another process may have run it meanwhile.
          if (isDone(step)) return
          step.up(database)
          setForm(database, { version: step.version, digest })
        })
      } catch (error) {
        throw new FailedStepError(placeOf(path), step, error)
      }
    }
  } finally {
    database.close()
  }
}

/** Undefined: the file is empty. */
function formOf(database: DatabaseSync): StoreForm | undefined {
  const pragma = (name: string) => database.prepare(`PRAGMA ${name}`).get()?.[name] as number
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  return isEmpty ? undefined : { version: pragma('user_version'), digest: pragma('application_id') }
}

function setForm(database: DatabaseSync, { version, digest }: StoreForm): void {
  database.exec(`PRAGMA user_version = ${version}; PRAGMA application_id = ${digest}`)
}

function placeOf(path: string): StorePlace {
  return { name: path, setting: 'PORTICO_DATA_DIR' }
}
