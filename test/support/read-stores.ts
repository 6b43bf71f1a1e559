import { DatabaseSync } from 'node:sqlite'
import type { Db } from 'mongodb'

/** Every row of every table of a file that is not open. */
export function readTables(path: string): Record<string, readonly object[]> {
  using database = new DatabaseSync(path, { readOnly: true })
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
  return Object.fromEntries(tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]))
}

/** Every document of every collection. */
export async function readCollections(db: Db): Promise<Record<string, readonly object[]>> {
  const found: Record<string, readonly object[]> = {}
  for (const collection of await db.collections()) {
    found[collection.collectionName] = await collection.find({}).toArray()
  }
  return found
}
