import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { gramsOf } from '../common/grams.ts'
import { firstOf, type Place } from '../common/place.ts'
import { type PublicRecord, SESSION_FIELDS } from '../common/session-record.ts'
import { all, between, type Condition, filtersOf } from './session-plan.ts'
import { scopesOf } from './title-index.ts'

/** Candidates that are looked at in one piece. */
const CANDIDATES = 500
/** Numbers of sessions that one question to the index is about: where all of them have what is asked for it takes 30 ms. */
const WINDOW = 32_768
/** Questions that find nothing follow each other for so long before others have a turn. */
const TURN_MS = 5

const ROW = `SELECT ${SESSION_FIELDS.join(', ')} FROM sessions WHERE number = ?`
const WAITING = 'SELECT session FROM titleQueue WHERE session > ? ORDER BY session LIMIT ?'
const INDEXED =
  'SELECT rowid AS session FROM titles WHERE titles MATCH ? AND rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?'

/** What a candidate and a question cost, in the rows that are gone through meanwhile. */
const CANDIDATE_COST = 4
const QUESTION_COST = 200

/**
 * Finds sessions by the grams of a title and by their filters, piece by piece: candidates in the order in which they were
 * made, of which the first ones of the list are kept. To be used for searches that have grams.
 */
export function* searchTitles(
  file: SqliteFile,
  workspace: string,
  query: SessionQuery & { readonly search: string },
): Generator<number, readonly PublicRecord[]> {
  for (;;) {
    const best = new Best(file, workspace, query)
    for (const pieces of [waiting(file), indexed(file, matching(workspace, query))]) {
      for (const candidates of pieces) {
        best.take(candidates)
        yield QUESTION_COST + CANDIDATE_COST * candidates.length
      }
    }
    const records = best.records()
    if (records !== undefined) return records
  }
}

/** Sessions that are not in the index yet, or not as they are. */
function* waiting(file: SqliteFile): Generator<readonly number[]> {
  for (let last = 0; ; ) {
    const numbers = numbersOf(file.statement(WAITING).all(last, CANDIDATES))
    yield numbers
    if (numbers.length < CANDIDATES) return
    last = numbers.at(-1) as number
  }
}

function* indexed(file: SqliteFile, match: string): Generator<readonly number[]> {
  const end = (file.statement('SELECT max(number) AS number FROM sessions').get()?.number ?? 0) as number
  let began = performance.now()
  for (let last = 0; last < end; ) {
    const to = last + WINDOW
    const numbers = numbersOf(file.statement(INDEXED).all(match, last, to, CANDIDATES))
    last = numbers.length < CANDIDATES ? to : (numbers.at(-1) as number)
    if (numbers.length === 0 && performance.now() - began < TURN_MS) continue
    yield numbers
    began = performance.now()
  }
}

function numbersOf(rows: readonly unknown[]): number[] {
  return (rows as readonly { readonly session: number }[]).map(({ session }) => session)
}

/** What the index is asked: all grams of the title and the marks of all filters. */
function matching(workspace: string, query: SessionQuery & { readonly search: string }): string {
  const marks = Object.values(scopesOf({ ...query, workspace }))
  const terms = [...marks, ...gramsOf(query.search.toLowerCase())]
  return terms.map((term) => `"${term.replaceAll('"', '""')}"`).join(' AND ')
}

/** A candidate that is in the list. */
interface Found extends Place {
  readonly number: number
}

/** The first sessions of a list among those that it was given. */
class Best {
  readonly #file: SqliteFile
  readonly #query: SessionQuery
  readonly #filters: Condition
  #found: readonly Found[] = []

  constructor(file: SqliteFile, workspace: string, query: SessionQuery) {
    this.#file = file
    this.#query = query
    const filters = filtersOf(query).map(([, condition]) => condition)
    this.#filters = all([{ sql: 'workspace = ?', values: [workspace] }, ...filters])
  }

  take(candidates: readonly number[]): void {
    if (candidates.length === 0) return
    const { limit, order, after } = this.#query
    const worst = this.#found.length === limit ? this.#found.at(-1) : undefined
    const { sql, values } = all([between(this.#query, after, worst), this.#filters])
    const direction = order === 'ascending' ? 'ASC' : 'DESC'
    const rows = this.#file
      .statement(
        `SELECT number, timeUpdated, id FROM sessions NOT INDEXED WHERE number IN (SELECT value FROM json_each(?)) AND ${sql}
          ORDER BY timeUpdated ${direction}, id ${direction} LIMIT ?`,
      )
      .all(JSON.stringify(candidates), ...values, limit) as unknown as Found[]
    // A session may move from the queue into the index meanwhile, and be met twice.
    this.#found = firstOf([...this.#found, ...rows], order, limit)
  }

  /** The sessions, unless one of them has changed since it was met. */
  records(): PublicRecord[] | undefined {
    const records = this.#found.map(({ number }) => this.#file.statement(ROW).get(number) as PublicRecord | undefined)
    const same = this.#found.every(({ timeUpdated }, i) => records[i]?.timeUpdated === timeUpdated)
    return same ? (records as PublicRecord[]) : undefined
  }
}
