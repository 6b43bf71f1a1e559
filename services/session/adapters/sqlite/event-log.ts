import { setImmediate } from 'node:timers/promises'
import type { TailItem } from '#services/session/ports/event-log.ts'
import { randomText } from '#shared/ids.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type EventRecord, toDurableEvent } from '../common/records.ts'

const BATCH = 100

/** The position of the last event of any workspace; steps from workspace to workspace. */
const LAST = `WITH RECURSIVE workspaces (name) AS (
    SELECT min(workspace) FROM events
    UNION ALL SELECT (SELECT min(workspace) FROM events WHERE workspace > name) FROM workspaces WHERE name IS NOT NULL)
  SELECT coalesce(max((SELECT max(position) FROM events WHERE workspace = name)), 0) AS last FROM workspaces`

const APPEND = `INSERT INTO events (workspace, position, id, sessionId, seq, directory, timeCreated, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

/**
 * The event log of a file. A position is the log's own id and the event's number in the file, so that a position from
 * another file is known as such. Nobody else writes to the file, so the numbers are counted here; what is undone leaves
 * a gap.
 */
export class SqliteEventLog implements Disposable {
  readonly #file: SqliteFile
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #closing = new AbortController()
  readonly #id: string
  #last: number

  /** Gives a new file its id; to be called in a job. */
  constructor(file: SqliteFile) {
    this.#file = file
    file.statement('INSERT INTO log SELECT ? WHERE NOT EXISTS (SELECT * FROM log)').run(randomText(8))
    this.#id = file.statement('SELECT id FROM log').get()?.id as string
    this.#last = file.statement(LAST).get()?.last as number
  }

  /** Writes an event; to be called in a job. */
  append(record: EventRecord): void {
    const { workspace, id, sessionId, seq, directory, timeCreated, data } = record
    this.#last += 1
    this.#file.statement(APPEND).run(workspace, this.#last, id, sessionId, seq, directory, timeCreated, data)
  }

  /** Wakes those who wait for events of a workspace. */
  wake(workspace: string): void {
    const waiting = this.#waiting.get(workspace)
    this.#waiting.delete(workspace)
    for (const wake of [...(waiting ?? [])]) wake()
  }

  /** See SessionStore.tailEvents. */
  async *tail(workspace: string, position: string | undefined, ended: AbortSignal): AsyncGenerator<TailItem> {
    const signal = AbortSignal.any([ended, this.#closing.signal])
    if (signal.aborted) return
    const last = this.#last
    const known = position === undefined ? last : this.#rowOf(position, last)
    let row = known ?? last
    yield { type: 'ready', position: `${this.#id}.${row}` }
    if (known === undefined) yield { type: 'missed' }
    while (!signal.aborted) {
      const sql = 'SELECT * FROM events WHERE workspace = ? AND position > ? ORDER BY position LIMIT ?'
      const records = this.#file.statement(sql).all(workspace, row, BATCH) as unknown as Row[]
      for (const record of records) {
        if (signal.aborted) return
        row = record.position
        yield { type: 'event', event: toDurableEvent(record, `${this.#id}.${row}`) }
      }
      if (records.length === 0) await this.#more(workspace, signal)
      // Nothing here waits for I/O: without a break, whoever reads a long log as fast as it comes would be all that happens.
      else if (records.length === BATCH) await setImmediate()
    }
  }

  /** Ends all readers. */
  [Symbol.dispose](): void {
    this.#closing.abort()
  }

  #rowOf(position: string, last: number): number | undefined {
    const [id, text = ''] = position.split('.')
    const row = /^\d{1,15}$/.test(text) ? Number(text) : undefined
    return id === this.#id && row !== undefined && row <= last && position === `${id}.${row}` ? row : undefined
  }

  /** Waits until the workspace has more events, or the signal aborts. */
  #more(workspace: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(workspace) ?? new Set()
      this.#waiting.set(workspace, waiting)
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        waiting.delete(wake)
        if (waiting.size === 0 && this.#waiting.get(workspace) === waiting) this.#waiting.delete(workspace)
        resolve()
      }
      waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }
}

interface Row extends EventRecord {
  readonly position: number
}
