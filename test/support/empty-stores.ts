import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeSchema as identitySchema } from '#services/identity/open.ts'
import { storeSchema as inferenceSchema } from '#services/inference/open.ts'
import { storeSchema as sessionSchema } from '#services/session/open.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'

/** The files of a data folder in which nothing is stored yet, by name; creating their schemas takes a while. */
let files: Map<string, Buffer> | undefined

/** Writes the files of an empty store, with the schemas of all services, to a data folder. */
export async function writeEmptyStores(directory: string): Promise<void> {
  files ??= await createStores()
  mkdirSync(directory, { mode: 0o700 })
  for (const [name, content] of files) writeFileSync(join(directory, name), content, { mode: 0o600 })
}

async function createStores(): Promise<Map<string, Buffer>> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-empty-'))
  const created = new Map<string, Buffer>()
  for (const { file, steps } of [sessionSchema, inferenceSchema, identitySchema].flatMap(({ sqlite }) => sqlite)) {
    const path = join(folder, file)
    await new SqliteFile(path, { steps, exclusive: true })[Symbol.asyncDispose]()
    created.set(file, readFileSync(path))
  }
  rmSync(folder, { recursive: true })
  return created
}
