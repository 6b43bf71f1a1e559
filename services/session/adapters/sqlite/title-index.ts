import { createHash } from 'node:crypto'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

/** Titles that are indexed in one transaction: about 10 µs each, half of what they cost one by one. */
const BATCH = 500

const QUEUED = `SELECT number, workspace, parentId, directory, projectId, subpath, titleSearch
  FROM sessions JOIN titleQueue ON number = session ORDER BY session LIMIT ?`
const REMOVE = 'DELETE FROM titles WHERE rowid IN (SELECT value FROM json_each(?))'
const DONE = 'DELETE FROM titleQueue WHERE session IN (SELECT value FROM json_each(?))'
const ADD = `INSERT INTO titles (rowid, title, workspace, parent, directory, project, subpath)
  VALUES (?, ?, ?, ?, ?, ?, ?)`
const LENGTH = `SELECT count(*) AS length FROM (SELECT 1 FROM titleQueue LIMIT ${BATCH})`

/** What a title is indexed with. */
export interface TitleScope {
  readonly workspace: string
  readonly parentId?: string | null
  readonly directory?: string
  readonly projectId?: string
  readonly subpath?: string
}

interface QueuedRow extends Required<TitleScope> {
  readonly number: number
  readonly titleSearch: string | null
}

/**
 * The index of titles, `titles`, is a full-text index of their grams, and of a mark for each filter of a list, so that a
 * search with filters is one question to it. Triggers put what is new or has changed into `titleQueue`, which is searched by
 * itself; many of them at once are taken over from there, in the background.
 */
export class TitleIndex {
  readonly #file: SqliteFile
  #written = 0
  #running = false

  constructor(file: SqliteFile) {
    this.#file = file
  }

  /** Titles were written: now and then, looks whether there are enough to be indexed. */
  wrote(): void {
    this.#written += 1
    if (this.#written < BATCH) return
    this.#written = 0
    this.look()
  }

  /** Indexes what waits, if there is enough of it. */
  look(): void {
    if (this.#running || (this.#file.statement(LENGTH).get()?.length as number) < BATCH) return
    this.#running = true
    void this.#run()
  }

  async #run(): Promise<void> {
    try {
      // Each batch is a transaction, which others have turns between.
      while ((await this.#file.write(() => this.#indexBatch())) === BATCH);
    } catch {
      // The file is closed, or cannot be written: what waits is searched as it is, and looked at again.
    } finally {
      this.#running = false
    }
  }

  #indexBatch(): number {
    const rows = this.#file.statement(QUEUED).all(BATCH) as unknown as QueuedRow[]
    const numbers = JSON.stringify(rows.map(({ number }) => number))
    this.#file.statement(REMOVE).run(numbers)
    for (const row of rows) {
      if (row.titleSearch === null) continue
      const { workspace, parent = '', directory = '', project = '', subpath = '' } = scopesOf(row)
      const title = row.titleSearch.replaceAll('\0', '\ufffd')
      this.#file.statement(ADD).run(row.number, title, workspace, parent, directory, project, subpath)
    }
    this.#file.statement(DONE).run(numbers)
    return rows.length
  }
}

type Scopes = { readonly workspace: string } & Partial<Record<'parent' | 'directory' | 'project' | 'subpath', string>>

/** The marks of what is given, each a gram. What they mean is compared with the session's row besides. */
export function scopesOf({ workspace, parentId, directory, projectId, subpath }: TitleScope): Scopes {
  return {
    workspace: markOf('workspace', workspace),
    ...(parentId === undefined ? {} : { parent: markOf('parent', parentId ?? '') }),
    ...(directory === undefined ? {} : { directory: markOf('directory', directory) }),
    ...(projectId === undefined ? {} : { project: markOf('project', projectId) }),
    ...(subpath === undefined ? {} : { subpath: markOf('subpath', subpath) }),
  }
}

const MARKS = new Map<string, string>()
const MOST_MARKS = 1_000

/** Three characters for private use, of a digest. */
function markOf(kind: string, value: string): string {
  const key = `${kind} ${value}`
  const known = MARKS.get(key)
  if (known !== undefined) return known
  const digest = createHash('sha256').update(key).digest()
  const codes = [0, 2, 4].map((at) => 0xe000 + (digest.readUInt16BE(at) & 0xfff))
  const mark = String.fromCharCode(...codes)
  if (MARKS.size >= MOST_MARKS) MARKS.clear()
  MARKS.set(key, mark)
  return mark
}
