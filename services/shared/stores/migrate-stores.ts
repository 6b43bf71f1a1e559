import { statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '#shared/config/config-error.ts'
import type { StoreConfig } from '#shared/config/store-config.ts'
import type { MongoSchema } from './mongo-schema.ts'
import type { ReportStep } from './schema-step.ts'
import { migrateSqlite, type SqliteSchema } from './sqlite-schema.ts'

/** A SQLite file of a service. */
export interface SqliteStore {
  /** Its name in the data folder. */
  readonly file: string
  /** Whether a running server locks the file. */
  readonly exclusive: boolean
  readonly schema: SqliteSchema
}

/** What a service stores, in either kind of store. */
export interface StoreSchema {
  readonly sqlite: readonly SqliteStore[]
  readonly mongo: MongoSchema
}

/** MongoDB went away during a migration. */
class MigrationStopped extends ConfigError {
  constructor(text: string, cause: unknown) {
    super([{ variable: 'PORTICO_MONGODB_URI', problem: text }], { cause })
    this.message = `MongoDB became unavailable: ${text.replaceAll(/\s+/g, ' ')}. Run this again once it is available`
  }
}

/** Whether any of the services has stored something there. Creates nothing. */
export async function anyStored(store: StoreConfig, schemas: readonly StoreSchema[]): Promise<boolean> {
  if (store.kind === 'sqlite') {
    const files = schemas.flatMap(({ sqlite }) => sqlite.map(({ file }) => join(store.directory, file)))
    return files.some((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0)
  }
  const { openMongo } = await import('./mongo.ts')
  const { isMongoStored } = await import('./mongo-schema.ts')
  await using mongo = await openMongo(store)
  const stored = await Promise.all(schemas.map((schema) => isMongoStored(mongo, schema.mongo)))
  return stored.includes(true)
}

/**
 * Migrates the stores of services to their latest versions, and creates none. It may be killed and run again, or run
 * several times at once. Throws a ConfigError of one line if another program wrote one of them, a server has it open,
 * or MongoDB goes away.
 */
export async function migrateStores(
  store: StoreConfig,
  schemas: readonly StoreSchema[],
  report: ReportStep,
): Promise<void> {
  if (store.kind === 'sqlite') {
    for (const { file, exclusive, schema } of schemas.flatMap(({ sqlite }) => sqlite)) {
      migrateSqlite(join(store.directory, file), schema, exclusive, report)
    }
    return
  }
  const { openMongo } = await import('./mongo.ts')
  const { migrateMongo } = await import('./mongo-schema.ts')
  await using mongo = await openMongo(store)
  try {
    for (const schema of schemas) await migrateMongo(mongo, schema.mongo, report)
  } catch (error) {
    const problem = mongo.problemOf(error)
    if (problem === undefined) throw error
    throw new MigrationStopped(problem.text, error)
  }
}
