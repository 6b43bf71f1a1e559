import { setImmediate } from 'node:timers/promises'
import { HOUR_MS, hourOf, movesTitle } from '#services/session/adapters/common/titles/moves-title.ts'
import { addPlace, BLOCK, storedPlaces } from '#services/session/adapters/common/titles/place-sets.ts'
import { type TitleScope, termsOf } from '#services/session/adapters/common/titles/title-terms.ts'
import type { Revision } from '#services/session/domain/revision.ts'
import { diskProblem } from '#shared/stores/disk-problem.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** Sessions that are read, and terms that are written, in one piece: a millisecond or two. */
const SESSIONS = 128
const TERMS = 512
/** How many sessions of a block that is given up get new places at once. */
const MOVED = 64
/** How many older blocks are inspected for each new one: those with few sessions left are given up. */
const LOOKS = 8

const LAST = 'SELECT max(titlePlace) AS last FROM sessions WHERE titlePlace IS NOT NULL'
const END = `SELECT coalesce(max(block) + 1, 0) * ${BLOCK} AS end FROM titleBlocks`
const PLACED = `SELECT titlePlace, workspace, parentId, directory, projectId, subpath, titleSearch, timeUpdated
  FROM sessions WHERE titlePlace >= ? AND titlePlace < ?`
const ADD_TERM = 'INSERT OR REPLACE INTO titleTerms (block, term, places) VALUES (?, ?, ?)'
const ADD_BLOCK = 'INSERT INTO titleBlocks (block, oldest, newest) VALUES (?, ?, ?)'
const FULL_BLOCKS = `SELECT block FROM titleBlocks
  WHERE block > ? AND block < (SELECT max(block) FROM titleBlocks) ORDER BY block LIMIT ${LOOKS}`
const LEFT = 'SELECT count(*) AS count FROM sessions WHERE titlePlace >= ? AND titlePlace < ?'
const FIRST = `SELECT number FROM sessions WHERE titlePlace >= ? AND titlePlace < ? ORDER BY titlePlace LIMIT ${MOVED}`
const MOVE = 'UPDATE sessions SET titlePlace = iif(titleSearch IS NULL, NULL, ?) WHERE number = ?'

interface PlacedRow extends Required<TitleScope> {
  readonly titlePlace: number
  readonly titleSearch: string
  readonly timeUpdated: number
}

/** The first place that is not in the index. */
export function endOfIndex(file: SqliteFile): number {
  return file.statement(END).get()?.end as number
}

/** The last place that a session has; -1: there is none. */
export function lastPlace(file: SqliteFile): number {
  return (file.statement(LAST).get()?.last as number | null) ?? -1
}

/**
 * The index of titles. Each session with a title has a place. It gets a new place, after all others, when its title or
 * a member that lists filter by changes, or when it is active in another hour. Places lie in blocks. A complete block
 * is indexed in the background, and that index never changes: it has the places of each term, and the range of times of
 * the sessions that have places in the block. Sessions after the indexed blocks are searched one by one. A block that
 * has lost more than half of its sessions is given up, and those that are left get new places.
 */
export class TitleIndex {
  readonly #file: SqliteFile
  readonly #logger: Logger | undefined
  #written = 0
  #running = false
  /** The last block that was looked at. */
  #looked = -1
  /** Nobody else gives places, so they are counted here; what is undone leaves a gap. */
  #next: number

  constructor(file: SqliteFile, logger?: Logger) {
    this.#file = file
    this.#logger = logger
    this.#next = Math.max(lastPlace(file) + 1, endOfIndex(file))
  }

  /** The place of a session with that title; to be called in a job. */
  place(titleSearch: string | null): number | null {
    return titleSearch === null ? null : this.#next++
  }

  /** Gives a session another place; to be called in a job. */
  move(session: number): void {
    this.#file.statement(MOVE).run(this.#next++, session)
  }

  /** A session was written: it gets another place where that is due. To be called in a job. */
  saved(session: number, revision: Revision): void {
    if (movesTitle(revision)) this.move(session)
  }

  /** Sessions were written: now and then, looks whether a block is complete. */
  wrote(): void {
    this.#written += 1
    if (this.#written < BLOCK / 4) return
    this.#written = 0
    this.look()
  }

  /** Indexes what is complete. */
  look(): void {
    if (this.#running || !this.#isComplete(endOfIndex(this.#file))) return
    this.#running = true
    void this.#run()
  }

  async #run(): Promise<void> {
    try {
      for (let end = endOfIndex(this.#file); this.#isComplete(end); end += BLOCK) {
        await this.#indexBlock(end / BLOCK)
        await this.#clear()
      }
    } catch (error) {
      // Until the next attempt, the sessions are searched without an index. An outage is reported by the store's watch.
      if (this.#file.isClosed || diskProblem(error) !== undefined) return
      this.#logger?.error({ err: error }, 'The index of titles could not be continued')
    } finally {
      this.#running = false
    }
  }

  #isComplete(end: number): boolean {
    return this.#next >= end + BLOCK
  }

  /**
   * Works in pieces, between which others have turns. A session that changes meanwhile, or is removed, loses its place.
   */
  async #indexBlock(block: number): Promise<void> {
    const first = block * BLOCK
    const places = new Map<number, number[]>()
    let oldest = Number.MAX_SAFE_INTEGER
    let newest = 0
    for (let from = first; from < first + BLOCK; from += SESSIONS) {
      const rows = this.#file.statement(PLACED).all(from, from + SESSIONS) as unknown as PlacedRow[]
      for (const row of rows) {
        for (const term of termsOf(row, row.titleSearch)) addPlace(places, term, row.titlePlace - first)
        oldest = Math.min(oldest, row.timeUpdated)
        newest = Math.max(newest, row.timeUpdated)
      }
      await setImmediate()
    }
    const terms = [...Int32Array.from(places.keys()).sort()]
    for (let from = 0; from < terms.length; from += TERMS) {
      const some = terms.slice(from, from + TERMS)
      await this.#file.write(() => {
        for (const term of some) this.#file.statement(ADD_TERM).run(block, term, storedPlaces(places.get(term) ?? []))
      })
    }
    const end = (hourOf(newest) + 1) * HOUR_MS
    await this.#file.write(() => this.#file.statement(ADD_BLOCK).run(block, oldest, end))
  }

  /** Inspects the next few blocks, and gives up those that have lost more than half of their sessions. */
  async #clear(): Promise<void> {
    const blocks = this.#file.statement(FULL_BLOCKS).all(this.#looked)
    this.#looked = blocks.length < LOOKS ? -1 : (blocks.at(-1)?.block as number)
    for (const { block } of blocks as unknown as { readonly block: number }[]) {
      const range = [block * BLOCK, (block + 1) * BLOCK] as const
      if ((this.#file.statement(LEFT).get(...range)?.count as number) >= BLOCK / 2) continue
      while (await this.#file.write(() => this.#moveSome(range)));
      await this.#file.write(() => {
        this.#file.statement('DELETE FROM titleBlocks WHERE block = ?').run(block)
        this.#file.statement('DELETE FROM titleTerms WHERE block = ?').run(block)
      })
    }
  }

  /** Gives some sessions of a block new places; returns whether there were any. */
  #moveSome(range: readonly [number, number]): boolean {
    const rows = this.#file.statement(FIRST).all(...range)
    for (const { number } of rows) this.move(number as number)
    return rows.length > 0
  }
}
