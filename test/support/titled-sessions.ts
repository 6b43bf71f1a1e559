import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withFoldedSearch } from '#services/session/adapters/common/fold-case.ts'
import { BLOCK } from '#services/session/adapters/common/titles/place-sets.ts'
import { SCHEMA } from '#services/session/adapters/sqlite/schema.ts'
import { endOfIndex, lastPlace, TitleIndex } from '#services/session/adapters/sqlite/titles/title-index.ts'
import { searchTitles } from '#services/session/adapters/sqlite/titles/title-search.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { waitFor } from './wait-until.ts'

export const W = 'wrk_one'
export const HOUR_MS = 3_600_000
/** Before the time of the first session. */
export const START = 500_000 * HOUR_MS
const WORDS = ['parser', 'lexer', 'gateway', 'ledger', 'renderer']

export type Query = Pick<SessionQuery, 'order'> & Partial<SessionQuery> & { readonly search: string }

/** A file of sessions, and what may happen to them. */
export class TitledSessions implements AsyncDisposable {
  readonly file: SqliteFile
  readonly titles: TitleIndex
  readonly #directory: string
  #now = START
  #count = 0

  constructor(directory: string) {
    this.#directory = directory
    this.file = new SqliteFile(join(directory, 'session.sqlite'), { schema: SCHEMA, exclusive: true })
    this.titles = new TitleIndex(this.file)
  }

  /** Some more sessions, each that many milliseconds after the one before. */
  async add(
    count: number,
    stepMs: number,
    title = (i: number) => `${WORDS[i % 5]} of the ${WORDS[(i >> 1) % 5]} ${i}`,
  ) {
    await this.file.write(() => {
      for (let i = 0; i < count; i++) {
        this.#now += stepMs
        this.#count += 1
        const number = this.#count
        this.file
          .statement(
            `INSERT INTO sessions (number, workspace, id, parentId, projectId, directory, subpath, title, titleSearch, costNanos, tokens,
               timeCreated, timeUpdated, seq, due, running, interruptRequested, fence, attempts, leaseUntil)
             VALUES (?, ?, ?, ?, ?, ?, '', '', ?, '0', '{}', ?, ?, 0, 0, 0, 0, 0, 0, 0)`,
          )
          .run(
            ...[number, number % 50 === 0 ? 'wrk_two' : W, `ses_${number}`, number % 3 === 0 ? 'ses_1' : null],
            ...[number % 2 === 0 ? 'even' : 'odd', number % 7 === 0 ? '/a' : '/b', title(number), this.#now, this.#now],
          )
        this.titles.move(number)
      }
    })
  }

  /** Changes the titles that sessions are found by. */
  change(set: string, where: string): void {
    const numbers = this.file.statement(`SELECT number FROM sessions WHERE ${where}`).all()
    this.file.statement(`UPDATE sessions SET ${set} WHERE ${where}`).run()
    for (const { number } of numbers) this.titles.move(number as number)
  }

  /** Activity, that many hours later. */
  async prompt(where: string, hours: number): Promise<void> {
    this.#now += hours * HOUR_MS
    await this.file.write(() => {
      this.change(`timeUpdated = ${this.#now}`, where)
    })
  }

  remove(where: string): void {
    this.file.statement(`DELETE FROM sessions WHERE ${where}`).run()
  }

  count(from: string): number {
    return this.file.statement(`SELECT count(*) AS count FROM ${from}`).get()?.count as number
  }

  /** Indexes every complete block. */
  async indexed(): Promise<void> {
    this.titles.look()
    await waitFor('the index', () => {
      this.titles.look()
      return lastPlace(this.file) < endOfIndex(this.file) + BLOCK - 1
    })
  }

  search(query: Query): Search {
    return searchTitles(this.file, W, withFoldedSearch({ limit: 20, ...query }))
  }

  find(query: Query): string[] {
    return rest(this.search(query))
  }

  rows(): readonly Row[] {
    const sql = `SELECT id, titleSearch, projectId, directory, parentId, timeUpdated FROM sessions
      WHERE workspace = ? AND titleSearch IS NOT NULL`
    return this.file.statement(sql).all(W) as unknown as Row[]
  }

  /** What a list contains, computed from the sessions alone. */
  expected(query: Query, rows = this.rows()): string[] {
    const { order, search, projectId, directory, parentId, until, after, limit = 20 } = query
    const isAscending = order === 'ascending'
    return rows
      .filter(
        (row) =>
          row.titleSearch.includes(search.toLowerCase()) &&
          (projectId === undefined || row.projectId === projectId) &&
          (directory === undefined || row.directory === directory) &&
          (parentId === undefined || row.parentId === parentId) &&
          (until === undefined || row.timeUpdated <= until) &&
          (after === undefined || (isAscending ? isBefore(after, row) : isBefore(row, after))),
      )
      .sort((a, b) => (isBefore(a, b) === isAscending ? -1 : 1))
      .slice(0, limit)
      .map(({ id }) => id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.file[Symbol.asyncDispose]()
    await rm(this.#directory, { recursive: true })
  }
}

type Search = ReturnType<typeof searchTitles>

/** Follows a search to its end. */
export function rest(search: Search): string[] {
  for (;;) {
    const { done, value } = search.next()
    if (done === true) return value.map(({ id }) => id)
  }
}

type Row = Readonly<Record<'id' | 'titleSearch' | 'projectId' | 'directory', string>> & {
  readonly timeUpdated: number
  readonly parentId: string | null
}
type Place = { readonly timeUpdated: number; readonly id: string }

function isBefore(a: Place, b: Place): boolean {
  return a.timeUpdated < b.timeUpdated || (a.timeUpdated === b.timeUpdated && a.id < b.id)
}

/** An empty file. */
export async function titledSessions(): Promise<TitledSessions> {
  return new TitledSessions(await mkdtemp(join(tmpdir(), 'portico-titles-')))
}

/** Many lists find what they should. */
export function findsAll(found: TitledSessions, what: string): void {
  const rows = found.rows()
  const { timeUpdated, id } = rows[rows.length >> 1] as Row
  for (const search of ['parser', 'LEXER of', 'er of the g', 'ger 17', 'nowhere', 'renamed', ' 123']) {
    for (const more of [{}, { projectId: 'even' }, { directory: '/a' }, { parentId: null }, { parentId: 'ses_1' }]) {
      for (const range of [{}, { after: { timeUpdated, id } }, { until: timeUpdated }]) {
        for (const order of ['ascending', 'descending'] as const) {
          const query = { search, order, ...more, ...range }
          assert.deepEqual(found.find(query), found.expected(query, rows), `${what}: ${JSON.stringify(query)}`)
        }
      }
    }
  }
}
