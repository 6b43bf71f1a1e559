import { EventEmitter, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import {
  completeEvent,
  type EventRecord,
  events,
  isKept,
  PAGE_CHARACTERS,
  parseEvent,
} from '#services/session/adapters/tables/events.ts'
import { charactersOf, type LogEvent } from '#services/session/domain/event.ts'
import type { SessionEvents, TailItem } from '#services/session/ports/event-log.ts'
import { randomText } from '#shared/ids.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectAll, selectOne } from '#shared/stores/sqlite-table.ts'
import { integer, optional, type RowOf } from '#shared/stores/table.ts'
import type { HiddenSessions } from '../hidden-sessions.ts'
import { CommittedEvents } from './committed-events.ts'
import { ExpiredEvents } from './expired-events.ts'
import type { WorkspaceNumbers } from './workspace-numbers.ts'

const BATCH = 100

/** The position of the last event of any workspace. */
const LAST = `SELECT coalesce(max((SELECT max(position) FROM events WHERE workspace = number)), 0) AS last FROM workspaces`

const append = insertInto(events)
const { workspace: _, ...own } = events.columns
const columns = { position: integer(), session: optional(integer()), ...own }
type Row = RowOf<typeof columns>
const AFTER = 'FROM events WHERE workspace = ? AND position > ? ORDER BY position LIMIT ?'
const OF_SESSION = 'FROM events WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?'
const PART = 'SELECT data FROM parts WHERE workspace = ? AND message = ? AND attempt = ? AND ordinal = ?'
const ITEM = 'SELECT data FROM inbox WHERE workspace = ? AND id = ?'

/**
 * The event log of a file. A position is the log's own id and the event's number in the file, so that a position from
 * another file is known as such. Nobody else writes to the file, so the numbers are counted here; what is undone leaves
 * a gap.
 */
export class SqliteEventLog implements Disposable {
  readonly expired: ExpiredEvents
  readonly #file: SqliteFile
  readonly #hidden: HiddenSessions
  readonly #workspaces: WorkspaceNumbers
  /** Emits the name of each workspace to which events are committed. */
  readonly #writes = new EventEmitter().setMaxListeners(0)
  readonly #closing = new AbortController()
  readonly #id: string
  readonly #committed: CommittedEvents
  #last: number

  /** Gives a new file its id; to be called in a job. */
  constructor(file: SqliteFile, hidden: HiddenSessions, workspaces: WorkspaceNumbers) {
    this.#file = file
    this.#hidden = hidden
    this.#workspaces = workspaces
    file.statement('INSERT INTO log (id) SELECT ? WHERE NOT EXISTS (SELECT * FROM log)').run(randomText(8))
    this.#id = file.statement('SELECT id FROM log').get()?.id as string
    this.expired = new ExpiredEvents(file, workspaces)
    this.#last = Math.max(file.statement(LAST).get()?.last as number, this.expired.last)
    this.#committed = new CommittedEvents(file, workspaces, this.#last)
  }

  /** Writes events, to be deleted with their session unless that is null; to be called in a job. */
  append(records: readonly EventRecord[], session: number | null): void {
    const rows = records.map((record) => {
      this.#last += 1
      return { ...record, workspace: this.#workspaces.take(record.workspace), position: this.#last, session }
    })
    append(this.#file, rows)
  }

  /** Wakes those who wait for events of a workspace; to be called when they are committed. */
  wake(workspace: string): void {
    this.#committed.wrote(workspace)
    this.#writes.emit(workspace)
  }

  /** See SessionStore.tailEvents. */
  async *tail(workspace: string, position: string | undefined, ended: AbortSignal): AsyncGenerator<TailItem> {
    const signal = AbortSignal.any([ended, this.#closing.signal])
    if (signal.aborted) return
    const { last } = this.#committed
    const start = position === undefined ? last : this.#rowOf(workspace, position, last)
    let row = start ?? last
    let behind = position !== undefined
    yield { type: 'ready', position: this.#positionOf(row) }
    if (start === undefined) yield { type: 'missed' }
    while (!signal.aborted) {
      const expired = this.expired.in(workspace)
      if (row < expired) {
        row = expired
        yield { type: 'missed' }
      }
      const end = this.#committed.last
      const { forgotten } = this.#hidden
      const number = this.#workspaces.find(workspace) ?? null
      const records = selectAll(this.#file, columns, AFTER, number, row, BATCH)
      for (const record of records) {
        if (signal.aborted) return
        // Some may be of a session of which nothing is left by now: what is there is read again.
        if (this.#hidden.forgotten !== forgotten) break
        row = record.position
        if (this.#hidden.isRemoved(record.session)) continue
        yield { type: 'event', event: { ...this.#complete(workspace, record), position: this.#positionOf(row) } }
      }
      if (this.#hidden.forgotten !== forgotten) continue
      // The workspace has no other events up to `end`.
      if (records.length < BATCH) {
        row = Math.max(row, end)
        if (behind) {
          behind = false
          yield { type: 'caught-up', position: this.#positionOf(row) }
          // Something may have come meanwhile.
          continue
        }
      }
      if (records.length === 0) await once(this.#writes, workspace, { signal }).catch(() => {})
      // Nothing here waits for I/O: without a break, whoever reads a long log as fast as it comes would be all that
      // happens.
      else if (records.length === BATCH) await setImmediate()
    }
  }

  /** Events of the session with that number in the file. */
  list(
    workspace: string,
    session: number,
    { afterSeq, limit }: { readonly afterSeq: number; readonly limit: number },
  ): SessionEvents {
    const first = selectOne(this.#file, columns, OF_SESSION, session, 0, 1)
    const records = selectAll(this.#file, columns, OF_SESSION, session, afterSeq, limit)
    const events: SessionEvents['events'][number][] = []
    let characters = 0
    for (const record of records) {
      const event = this.#complete(workspace, record)
      events.push(event)
      characters += charactersOf(event.event)
      if (characters >= PAGE_CHARACTERS) break
    }
    return { events, missed: !isKept(first, afterSeq) }
  }

  /** Ends all readers. */
  [Symbol.dispose](): void {
    this.#closing.abort()
  }

  #complete(workspace: string, row: Row): LogEvent {
    const record = { workspace, ...row }
    const event = parseEvent(record)
    const { source } = event
    if (source === undefined) return completeEvent(record, event)
    const held =
      source.type === 'item'
        ? this.#file.statement(ITEM).get(workspace, source.id)
        : this.#file.statement(PART).get(workspace, source.message, source.attempt, source.ordinal)
    return completeEvent(record, event, held?.data as string | undefined)
  }

  #rowOf(workspace: string, position: string, last: number): number | undefined {
    const [id, text = ''] = position.split('.')
    const row = /^\d{1,15}$/.test(text) ? Number(text) : undefined
    const kept = row !== undefined && row <= last && row >= this.expired.in(workspace)
    return id === this.#id && kept && position === `${id}.${text}` ? row : undefined
  }

  /** Of one length, so that positions sort as texts. */
  #positionOf(row: number): string {
    return `${this.#id}.${String(row).padStart(15, '0')}`
  }
}
