import { firstOf, type Place } from '#services/session/adapters/common/place.ts'
import type { PublicRecord } from '#services/session/adapters/common/session-record.ts'
import { BLOCK, commonPlaces, listPlaces } from '#services/session/adapters/common/titles/place-sets.ts'
import { termsOf } from '#services/session/adapters/common/titles/title-terms.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { all, between, type Condition, filtersOf } from '../session-plan.ts'
import { SESSION_COLUMNS, type SessionRow, toPublicRecord } from '../session-rows.ts'
import { endOfIndex, lastPlace } from './title-index.ts'

/** How many places after the index are searched at once. */
const WAITING = 512
/** How long blocks without results are searched before others have a turn. */
const TURN_MS = 5

const ROW = `SELECT ${SESSION_COLUMNS} FROM sessions WHERE number = ?`
const PLACES = 'SELECT places FROM titleTerms WHERE block = ? AND term = ?'

type Search = SessionQuery & { readonly search: string }

/** The range of times of a block's sessions; `newest` is no longer in it. */
interface Block {
  readonly block: number
  readonly oldest: number
  readonly newest: number
}

/**
 * Finds sessions by the grams of a title and by filters, for searches that have grams. It goes through the index block
 * by block, and keeps the candidates that are first in the list, until no block that is left can have an earlier one. A
 * block and a candidate count as one row each, although they cost more: this way is mostly the shorter one.
 */
export function* searchTitles(
  file: SqliteFile,
  workspace: string,
  query: Search,
): Generator<number, readonly PublicRecord[]> {
  for (;;) {
    const best = new Best(file, workspace, query)
    const blocks = blocksOf(file, query)
    const waited = yield* takeWaiting(file, best, endOfIndex(file))
    yield* takeBlocks(file, best, blocks, termsOf({ ...query, workspace }, query.search))
    // Sessions that have lost their place meanwhile have a new one after the others.
    yield* takeWaiting(file, best, waited)
    const records = best.records()
    if (records !== undefined) return records
  }
}

/** Takes the sessions whose current places are not indexed yet; returns the place after the last one. */
function* takeWaiting(file: SqliteFile, best: Best, from: number): Generator<number, number> {
  for (let next = from; ; ) {
    const end = lastPlace(file) + 1
    if (next >= end) return next
    const to = Math.min(next + WAITING, end)
    best.take({ sql: 'titlePlace >= ? AND titlePlace < ?', values: [next, to] })
    yield to - next
    next = to
  }
}

function* takeBlocks(file: SqliteFile, best: Best, blocks: readonly Block[], terms: number[]): Generator<number, void> {
  let began = performance.now()
  let cost = 0
  for (const { block, oldest, newest } of blocks) {
    if (best.endsBefore(oldest, newest)) return
    const candidates = candidatesOf(file, block, terms)
    if (candidates.length > 0) {
      best.take({ sql: 'titlePlace IN (SELECT value FROM json_each(?))', values: [JSON.stringify(candidates)] })
    }
    cost += 1 + candidates.length
    if (performance.now() - began < TURN_MS) continue
    yield cost
    cost = 0
    began = performance.now()
  }
}

/**
 * The places in a block that have all of these terms. The term that leaves no places moves to the front: it is likely
 * to be the rarest one in the next block, too.
 */
function candidatesOf(file: SqliteFile, block: number, terms: number[]): number[] {
  let common: ReturnType<typeof commonPlaces>
  for (const [i, term] of terms.entries()) {
    const places = file.statement(PLACES).get(block, term)?.places as Uint8Array | undefined
    common = places && commonPlaces(places, common)
    if (common !== undefined) continue
    terms.unshift(...terms.splice(i, 1))
    return []
  }
  return common === undefined ? [] : listPlaces(common).map((place) => block * BLOCK + place)
}

/** The blocks that may have sessions of the list, those first that may have its first ones. */
function blocksOf(file: SqliteFile, { order, until, after }: Search): readonly Block[] {
  const isAscending = order === 'ascending'
  const sql = `SELECT block, oldest, newest FROM titleBlocks WHERE oldest <= ? AND newest > ?
    ORDER BY ${isAscending ? 'oldest' : 'newest DESC'}`
  const most = Math.min(
    until ?? Number.MAX_SAFE_INTEGER,
    (isAscending ? undefined : after?.timeUpdated) ?? Number.MAX_SAFE_INTEGER,
  )
  const least = (isAscending ? after?.timeUpdated : undefined) ?? 0
  return file.statement(sql).all(most, least) as unknown as Block[]
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

  /** Takes the sessions that have some places. */
  take(places: Condition): void {
    const { limit, order, after } = this.#query
    const { sql, values } = all([places, between(this.#query, after, this.#worst()), this.#filters])
    const direction = order === 'ascending' ? 'ASC' : 'DESC'
    const rows = this.#file
      .statement(
        `SELECT number, timeUpdated, id FROM sessions INDEXED BY sessionsByTitlePlace
          WHERE ${sql} ORDER BY timeUpdated ${direction}, id ${direction} LIMIT ?`,
      )
      .all(...values, limit) as unknown as Found[]
    // A session may get another place meanwhile, and be met twice.
    this.#found = firstOf([...this.#found, ...rows], order, limit)
  }

  /** Whether the list is full of what comes before all that lies between two times, without the last one. */
  endsBefore(oldest: number, newest: number): boolean {
    const worst = this.#worst()
    if (worst === undefined) return false
    return this.#query.order === 'ascending' ? worst.timeUpdated < oldest : worst.timeUpdated >= newest
  }

  /** The sessions, unless one of them has changed since it was met. */
  records(): PublicRecord[] | undefined {
    const records: PublicRecord[] = []
    for (const { number, timeUpdated } of this.#found) {
      const row = this.#file.rows(ROW).get(number) as unknown as SessionRow | undefined
      const record = row && toPublicRecord(row)
      if (record?.timeUpdated !== timeUpdated) return undefined
      records.push(record)
    }
    return records
  }

  #worst(): Found | undefined {
    return this.#found.length === this.#query.limit ? this.#found.at(-1) : undefined
  }
}
