import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoreSchema } from '#shared/stores/migrate-stores.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'

/** The files of a service that has stored nothing yet, by name; creating their schemas takes a while. */
const made = new Map<StoreSchema, ReadonlyMap<string, Buffer>>()

/** Writes the files of services that have stored nothing yet to a data folder. */
export async function writeEmptyStores(directory: string, ...schemas: readonly StoreSchema[]): Promise<void> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const schema of schemas) {
    const files = made.get(schema) ?? (await createStores(schema))
    made.set(schema, files)
    for (const [name, content] of files) writeFileSync(join(directory, name), content, { mode: 0o600 })
  }
}

async function createStores({ sqlite }: StoreSchema): Promise<Map<string, Buffer>> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-empty-'))
  const created = new Map<string, Buffer>()
  for (const { file, schema } of sqlite) {
    const path = join(folder, file)
    await new SqliteFile(path, { schema, exclusive: true })[Symbol.asyncDispose]()
    created.set(file, readFileSync(path))
  }
  rmSync(folder, { recursive: true })
  return created
}
