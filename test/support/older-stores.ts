import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BSON, type Document } from 'mongodb'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { mongoUri } from './mongo.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/stores')

/** What the server that wrote a fixture returned before it was killed. */
export interface Expected {
  readonly keys: { readonly spare: string; readonly disabled: string }
  readonly sessions: readonly { readonly id: string }[]
  readonly messages: Readonly<Record<string, readonly unknown[]>>
  /** Position before the first event, and the events; only where positions survive a copy. */
  readonly start?: string
  readonly events?: readonly unknown[]
}

/** Creates the project whose path is in the fixtures. */
function makeProject(path: string): void {
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'README.md'), '# Lighthouse\n\nIt shines at night.\n')
}

/** A title of a fixture, which older schemas find by its lower case alone. */
export const TITLE = 'Die Straße'

/**
 * A file of a fixture. The killed run would take two minutes to go on, so its script is made quicker, in as many
 * characters. The fixtures are ASCII: one title gets another letter.
 */
function textOf(path: string, project: string): string {
  return readFileSync(path, 'utf8')
    .replaceAll('{{project}}', project)
    .replaceAll('/slow 60000', '/slow 00100')
    .replaceAll('Tools and files', TITLE)
    .replaceAll('tools and files', TITLE.toLowerCase())
}

/** Creates the data folder of a fixture, and its project. */
export function layOutFolder(name: string, directory: string, project: string): Expected {
  makeProject(project)
  const fixture = join(FIXTURES, name)
  mkdirSync(directory, { recursive: true })
  for (const file of readdirSync(fixture)) {
    if (file === 'blobs' || file === 'stores.json')
      cpSync(join(fixture, file), join(directory, file), { recursive: true })
    if (!file.endsWith('.sql')) continue
    layOutFile(join(fixture, file), join(directory, file.replace('.sql', '.sqlite')), project)
  }
  return JSON.parse(textOf(join(fixture, 'expected.json'), project)) as Expected
}

function layOutFile(statements: string, path: string, project: string): void {
  using database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF')
  database.exec(`BEGIN; ${textOf(statements, project)} COMMIT`)
}

/** Creates the file `identity.sqlite` of a fixture that has nothing else. */
export function layOutIdentity(name: string, directory: string): string {
  const path = join(directory, 'identity.sqlite')
  layOutFile(join(FIXTURES, name, 'identity.sql'), path, '')
  return path
}

/** Fills a database with a fixture, and creates its project. */
export async function layOutDatabase(name: string, database: string, project: string): Promise<Expected> {
  makeProject(project)
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database })
  await layOutCollections(name, mongo, project)
  return JSON.parse(textOf(join(FIXTURES, name, 'expected.json'), project)) as Expected
}

/** Fills collections of a fixture. */
export async function layOutCollections(name: string, mongo: Mongo, project = ''): Promise<void> {
  const fixture = join(FIXTURES, name)
  for (const file of readdirSync(fixture)) {
    if (!file.endsWith('.jsonl')) continue
    const lines = textOf(join(fixture, file), project).trim().split('\n')
    const [first, ...documents] = lines.map((line) => BSON.EJSON.parse(line, { relaxed: false }) as Document)
    const collection = mongo.db.collection(file.replace('.jsonl', ''))
    if (first?.indexes.length > 0) await collection.createIndexes(first?.indexes)
    if (documents.length > 0) await collection.insertMany(documents)
  }
}
