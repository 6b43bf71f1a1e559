import type { Removal } from '#services/session/ports/session-removal.ts'
import type { StagedSession } from '#services/session/ports/session-staging.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectOne } from '#shared/stores/sqlite-table.ts'
import { integer, type RecordOf, type RowOf, toRow } from '#shared/stores/table.ts'
import { stillBelow } from '../common/refusals.ts'
import { hiddenSessions } from '../tables/sessions.ts'
import type { WorkspaceNumbers } from './events/workspace-numbers.ts'

const numbered = { number: integer(), ...hiddenSessions.columns }
export type HiddenRow = RowOf<typeof numbered>
const insert = insertInto(hiddenSessions)

const STAGED = `kind <> 'removal'`
const OF_STAGED = `number = ? AND workspace = ? AND sessionId = ? AND ${STAGED}`
const OLDEST = 'SELECT number FROM hiddenSessions WHERE until <= ? ORDER BY until LIMIT 1'
const LAST = `SELECT max(coalesce((SELECT max(number) FROM sessions), 0), coalesce((SELECT max(number) FROM hiddenSessions), 0)) AS last`

/** One statement, since it runs for each new session. */
const EARLIER = `SELECT EXISTS (SELECT 1 FROM hiddenSessions WHERE workspace = ?1 AND sessionId = ?2) AS hidden,
  (SELECT max(seq) FROM events INDEXED BY eventsOfRemoved WHERE workspace = ?3 AND sessionId = ?2 AND session IS NULL) AS lastSeq`

interface EarlierRow {
  readonly hidden: 0 | 1
  readonly lastSeq: number | null
}

/** What earlier sessions with the same id have left. */
export interface EarlierSessions {
  /**
   * The number of the last removal's event, while it is kept; the numbers of a new session with the id are above it.
   */
  readonly lastSeq: number
  /** Whether there are rows of staged or removed ones. */
  readonly isHidden: boolean
}

/**
 * The hidden sessions of a file, and the numbers of all sessions: no session gets a number that rows of another one
 * still have.
 */
export class HiddenSessions {
  readonly #file: SqliteFile
  readonly #workspaces: WorkspaceNumbers
  readonly #removed: Set<number>
  #last: number
  #forgotten = 0

  /** Nobody else writes to the file, so whatever was staged has lost its owner. To be called in a job. */
  constructor(file: SqliteFile, workspaces: WorkspaceNumbers) {
    this.#file = file
    this.#workspaces = workspaces
    file.statement(`UPDATE hiddenSessions SET kind = 'removal', until = 0`).run()
    const rows = file.statement('SELECT number FROM hiddenSessions').all()
    this.#removed = new Set(rows.map(({ number }) => number as number))
    this.#last = file.statement(LAST).get()?.last as number
  }

  /** How many removed sessions have been forgotten. */
  get forgotten(): number {
    return this.#forgotten
  }

  next(): number {
    this.#last += 1
    return this.#last
  }

  /** Whether events of the session are not to be read. */
  isRemoved(number: number | null): boolean {
    return number !== null && this.#removed.has(number)
  }

  /** From now on, the event log leaves out these sessions. To be called when the transaction is committed. */
  removed(numbers: readonly number[]): void {
    for (const number of numbers) this.#removed.add(number)
  }

  /** Whether rows of a session are what an id names: it is there, or will be. */
  owns(number: number): boolean {
    const sql = `SELECT 1 FROM sessions WHERE number = ?1
      UNION ALL SELECT 1 FROM hiddenSessions WHERE number = ?1 AND ${STAGED}`
    return this.#file.statement(sql).get(number) !== undefined
  }

  /** Hides a session; to be called in a job. */
  add(number: number, hidden: RecordOf<typeof hiddenSessions.columns>): void {
    insert(this.#file, [{ ...toRow(hiddenSessions.columns, hidden), number }])
  }

  /** The ancestors of a removed session, while some may be below it. */
  ancestors(number: number): readonly string[] | undefined {
    const above = this.#file.statement('SELECT above FROM hiddenSessions WHERE number = ?').get(number)?.above
    return hiddenSessions.columns.above.decode((above ?? null) as string | null)
  }

  /** No session is below a removed one any more; to be called in a job. */
  endBelow(number: number): void {
    this.#file.statement('UPDATE hiddenSessions SET above = NULL WHERE number = ?').run(number)
  }

  /** What sessions that had an id before have left; rejects while sessions may still be below one of them. */
  earlier(workspace: string, id: string): EarlierSessions {
    const number = this.#workspaces.find(workspace) ?? null
    const row = this.#file.statement(EARLIER).get(workspace, id, number) as unknown as EarlierRow
    const isHidden = row.hidden === 1
    if (isHidden && this.#hasBelow(workspace, id)) throw stillBelow()
    return { lastSeq: row.lastSeq ?? 0, isHidden }
  }

  /** A staged session whose time is not over. */
  staged({ workspace, sessionId, key }: StagedSession, now: number): HiddenRow | undefined {
    const live = `FROM hiddenSessions WHERE ${OF_STAGED} AND until > ?`
    return selectOne(this.#file, numbered, live, Number(key), workspace, sessionId, now)
  }

  /** Whether one is staged under an id whose time is not over. */
  hasStaged(workspace: string, id: string, now: number): boolean {
    const sql = `SELECT 1 FROM hiddenSessions WHERE workspace = ? AND sessionId = ? AND ${STAGED} AND until > ?`
    return this.#file.statement(sql).get(workspace, id, now) !== undefined
  }

  /** Keeps a session as it is until then; to be called in a job. */
  keep(number: number, seq: number, until: number): void {
    this.#file.statement('UPDATE hiddenSessions SET seq = ?, until = ? WHERE number = ?').run(seq, until, number)
  }

  /** Makes a removal of a staged session; to be called in a job. */
  giveUp({ workspace, sessionId, key }: StagedSession): void {
    const sql = `UPDATE hiddenSessions SET kind = 'removal', until = 0 WHERE ${OF_STAGED}`
    this.#file.statement(sql).run(Number(key), workspace, sessionId)
  }

  /** Makes removals of what is staged under an id; to be called in a job. */
  giveUpId(workspace: string, id: string): void {
    const sql = `UPDATE hiddenSessions SET kind = 'removal', until = 0 WHERE workspace = ? AND sessionId = ? AND ${STAGED}`
    this.#file.statement(sql).run(workspace, id)
  }

  #hasBelow(workspace: string, id: string): boolean {
    const sql = 'SELECT 1 FROM hiddenSessions WHERE workspace = ? AND sessionId = ? AND above IS NOT NULL'
    return this.#file.statement(sql).get(workspace, id) !== undefined
  }

  mayTake(now: number): boolean {
    return this.#file.statement(OLDEST).get(now) !== undefined
  }

  /** The removal that has waited longest; to be called in a job. */
  take(now: number, until: number): Removal | undefined {
    const sql = `UPDATE hiddenSessions SET kind = 'removal', until = ?
      WHERE number = (${OLDEST}) RETURNING number, workspace, sessionId, tools`
    const row = this.#file.statement(sql).get(until, now) as Parameters<typeof toRemoval>[0] | undefined
    return row && toRemoval(row)
  }

  /** Nothing of it is left, or it is seen from now on; to be called in a job. */
  delete(number: number): void {
    this.#file.statement('DELETE FROM hiddenSessions WHERE number = ?').run(number)
  }

  /** Nothing is left of it. */
  forget(number: number): void {
    this.#removed.delete(number)
    this.#forgotten += 1
  }
}

export function toRemoval({
  number,
  workspace,
  sessionId,
  tools,
}: Pick<HiddenRow, 'number' | 'workspace' | 'sessionId' | 'tools'>): Removal {
  return { workspace, sessionId, tools: hiddenSessions.columns.tools.decode(tools), key: String(number) }
}
