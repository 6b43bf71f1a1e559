import { setImmediate } from 'node:timers/promises'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { BLOCK, storedPlaces } from './place-sets.ts'
import { type TitleScope, termsOf } from './title-terms.ts'

/** A session may be active for so long without another place. */
const HOUR_MS = 3_600_000
/** Sessions that are read, and terms that are written, in one piece: a millisecond or two. */
const SESSIONS = 128
const TERMS = 512
/** Blocks that are looked at for what is left of them, for each new one. */
const LOOKS = 8

const LAST = 'SELECT max(place) AS last FROM titlePlaces'
const END = `SELECT coalesce(max(block) + 1, 0) * ${BLOCK} AS end FROM titleBlocks`
const PLACED = `SELECT place, workspace, parentId, directory, projectId, subpath, titleSearch, timeUpdated
  FROM titlePlaces CROSS JOIN sessions ON number = session WHERE place >= ? AND place < ?`
const ADD_TERM = 'INSERT OR REPLACE INTO titleTerms (block, term, places) VALUES (?, ?, ?)'
const ADD_BLOCK = 'INSERT INTO titleBlocks (block, oldest, newest) VALUES (?, ?, ?)'
const FULL_BLOCKS = `SELECT block FROM titleBlocks
  WHERE block > ? AND block < (SELECT max(block) FROM titleBlocks) ORDER BY block LIMIT ${LOOKS}`
const LEFT = 'SELECT count(*) AS count FROM titlePlaces WHERE place >= ? AND place < ?'
const MOVE_ONE = `INSERT OR REPLACE INTO titlePlaces (session)
  SELECT number FROM sessions WHERE number = ? AND titleSearch IS NOT NULL`
const MOVE = `INSERT OR REPLACE INTO titlePlaces (session)
  SELECT session FROM titlePlaces WHERE place >= ? AND place < ? ORDER BY place`

interface PlacedRow extends Required<TitleScope> {
  readonly place: number
  readonly titleSearch: string
  readonly timeUpdated: number
}

/** The first place that is not in the index. */
export function endOfIndex(file: SqliteFile): number {
  return file.statement(END).get()?.end as number
}

/**
 * The index of titles. Each session with a title has a place, and gets another one, after all others, when what it is found by
 * changes (triggers see to that), or its time does by the hour. The places lie in blocks. A block that is complete is
 * indexed, in the background, and never changed: for each term its places, and between which times its sessions lie for as long as
 * they have a place in it. What lies after the indexed blocks is searched by itself. A block of which less than half is left
 * goes, and what is left gets new places.
 */
export class TitleIndex {
  readonly #file: SqliteFile
  #written = 0
  #running = false
  /** The last block that was looked at. */
  #looked = -1

  constructor(file: SqliteFile) {
    this.#file = file
  }

  /** A session's time has changed: in another hour it gets another place. To be called in a job. */
  touched(session: number, before: number, now: number): void {
    if (endOfHour(before) !== endOfHour(now)) this.#file.statement(MOVE_ONE).run(session)
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
    } catch {
      // The file is closed, or cannot be written: what waits is searched as it is, and looked at again.
    } finally {
      this.#running = false
    }
  }

  #isComplete(end: number): boolean {
    return ((this.#file.statement(LAST).get()?.last ?? 0) as number) >= end + BLOCK - 1
  }

  /** In pieces, between which others have turns. A session that changes meanwhile loses its place, and one that was removed, too. */
  async #indexBlock(block: number): Promise<void> {
    const first = block * BLOCK
    const places = new Map<number, number[]>()
    let oldest = Number.MAX_SAFE_INTEGER
    let newest = 0
    for (let from = first; from < first + BLOCK; from += SESSIONS) {
      const rows = this.#file.statement(PLACED).all(from, from + SESSIONS) as unknown as PlacedRow[]
      for (const row of rows) {
        for (const term of termsOf(row, row.titleSearch)) addTo(places, term, row.place - first)
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
    await this.#file.write(() => this.#file.statement(ADD_BLOCK).run(block, oldest, endOfHour(newest)))
  }

  /** Looks at some blocks, all in turns, and clears those that less than half is left of. */
  async #clear(): Promise<void> {
    const blocks = this.#file.statement(FULL_BLOCKS).all(this.#looked)
    this.#looked = blocks.length < LOOKS ? -1 : (blocks.at(-1)?.block as number)
    for (const { block } of blocks as unknown as { readonly block: number }[]) {
      const range = [block * BLOCK, (block + 1) * BLOCK] as const
      if ((this.#file.statement(LEFT).get(...range)?.count as number) >= BLOCK / 2) continue
      await this.#file.write(() => {
        this.#file.statement(MOVE).run(...range)
        this.#file.statement('DELETE FROM titleBlocks WHERE block = ?').run(block)
        this.#file.statement('DELETE FROM titleTerms WHERE block = ?').run(block)
      })
    }
  }
}

/** The first millisecond of the next hour. */
function endOfHour(time: number): number {
  return (Math.floor(time / HOUR_MS) + 1) * HOUR_MS
}

/** Two terms of a title may have one number. */
function addTo(places: Map<number, number[]>, term: number, place: number): void {
  const known = places.get(term)
  if (known === undefined) places.set(term, [place])
  else if (known.at(-1) !== place) known.push(place)
}
