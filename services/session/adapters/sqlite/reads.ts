import type { SQLInputValue } from 'node:sqlite'
import type { StepReads } from '#services/session/domain/begin-step.ts'
import type { CompactionReads } from '#services/session/domain/inbox/inputs.ts'
import type { MoveReads } from '#services/session/domain/inbox/move-session.ts'
import {
  type AdmissionReads,
  type Delivery,
  type KnownItem,
  MOST_INBOX_ITEMS,
  type TakenId,
  type WaitingInput,
  type WaitingInputs,
} from '#services/session/domain/inbox.ts'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { KnownRequest, PermissionRequest } from '#services/session/domain/permission/permission.ts'
import type { Session } from '#services/session/domain/session.ts'
import type { SessionState } from '#services/session/domain/session-state.ts'
import type { Unfinished } from '#services/session/domain/settle-aborted.ts'
import type { SessionReads } from '#services/session/ports/session-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { FirstSteers, type InboxRecord, inOrder, toKnownItem, toWaitingInput } from '../common/inbox-record.ts'
import { type RequestRecord, toKnownRequest, toKnownRequests, toRequests } from '../common/records.ts'
import { toRemoved, toSession, toState } from '../common/session-record.ts'
import { MESSAGE_COLUMNS, type MessageRow, readStored } from './message-rows.ts'
import {
  SESSION_COLUMNS,
  type SessionRow,
  STATE_COLUMNS,
  type StateRow,
  toPublicRecord,
  toStateRecord,
} from './session-rows.ts'

const SESSION_SQL = `SELECT ${SESSION_COLUMNS} FROM sessions WHERE workspace = ? AND id = ?`
const STATE_SQL = `SELECT number, ${STATE_COLUMNS} FROM sessions WHERE workspace = ? AND id = ?`

/** The state of a session and its number, or undefined when there is none. */
export function readState(file: SqliteFile, workspace: string, sessionId: string): FoundSession | undefined {
  const found = readRecord(file, workspace, sessionId)
  return found && { number: found.number, state: toState(found.record) }
}

/** The same of what a removal needs. */
export function readRemoved(file: SqliteFile, workspace: string, sessionId: string) {
  const found = readRecord(file, workspace, sessionId)
  return found && { number: found.number, state: toRemoved(found.record) }
}

function readRecord(file: SqliteFile, workspace: string, sessionId: string) {
  const row = file.rows(STATE_SQL).get(workspace, sessionId) as unknown as [number, ...StateRow] | undefined
  if (row === undefined) return undefined
  const [number, ...state] = row
  return { number, record: toStateRecord(state) }
}

/** A session, or undefined when there is none. */
export function readSession(file: SqliteFile, workspace: string, sessionId: string): Session | undefined {
  const row = file.rows(SESSION_SQL).get(workspace, sessionId) as unknown as SessionRow | undefined
  return row && toSession(toPublicRecord(row))
}

/** A session that was found. */
interface FoundSession {
  readonly number: number
  readonly state: SessionState
}

/** What is read of one session. */
export class SqliteReads implements SessionReads {
  readonly #file: SqliteFile
  readonly #workspace: string
  readonly #session: FoundSession
  readonly #takenId: (id: string) => TakenId | undefined

  constructor(
    file: SqliteFile,
    workspace: string,
    session: FoundSession,
    takenId: (id: string) => TakenId | undefined,
  ) {
    this.#file = file
    this.#takenId = takenId
    this.#workspace = workspace
    this.#session = session
  }

  takenId(id: string): TakenId | undefined {
    return this.#takenId(id)
  }

  admissionReads(id: string): AdmissionReads {
    return { taken: this.takenId(id), full: this.#isFull() }
  }

  item(id: string): KnownItem | undefined {
    return this.#all<InboxRecord>('inbox', 'workspace = ? AND id = ?', this.#workspace, id).map(toKnownItem)[0]
  }

  moveReads(id: string): MoveReads {
    return { ...this.admissionReads(id), moves: this.#ofKind('move') }
  }

  compactionReads(id: string): CompactionReads {
    return { ...this.admissionReads(id), waiting: this.#ofKind('compaction')[0] }
  }

  inbox(afterSeq: number, limit: number): WaitingInput[] {
    return inOrder(this.#waiting('steer', afterSeq, limit), this.#waiting('queue', afterSeq, limit), limit)
  }

  waiting(): WaitingInputs {
    const first = new FirstSteers()
    const where = `session = ? AND state = 'waiting' AND delivery = 'steer' ORDER BY seq LIMIT ?`
    const steers = this.#file.statement(`SELECT * FROM inbox WHERE ${where}`)
    for (const record of steers.iterate(this.#session.number, FirstSteers.read)) {
      if (!first.add(record as unknown as InboxRecord)) break
    }
    return { steers: first.steers, queued: this.#waiting('queue', 0, 2), more: first.more }
  }

  stepReads(afterSeq: number): StepReads {
    return {
      session: readSession(this.#file, this.#workspace, this.#session.state.id) as Session,
      waiting: this.waiting(),
      transcript: this.#messages('seq > ? ORDER BY seq', afterSeq),
    }
  }

  request(id: string): KnownRequest | undefined {
    return this.#all<RequestRecord>('requests', 'id = ?', id).map(toKnownRequest)[0]
  }

  waitingRequests(): PermissionRequest[] {
    return toRequests(this.#all<RequestRecord>('requests', 'reply IS NULL ORDER BY seq'))
  }

  waitingRequestIds(): string[] {
    const sql = 'SELECT id FROM requests WHERE workspace = ? AND sessionId = ? AND reply IS NULL ORDER BY seq'
    return this.#file
      .statement(sql)
      .all(this.#workspace, this.#session.state.id)
      .map(({ id }) => id as string)
  }

  unfinished(): Unfinished {
    const found = this.#messages('unfinished = 1 ORDER BY seq')
    const unfinished = found.map(({ message }) => message as Unfinished['unfinished'][number])
    const waiting = this.#all<RequestRecord>('requests', 'reply IS NULL ORDER BY seq')
    const first = found[0]?.seq
    const answered = first === undefined ? [] : this.#answeredSince(first)
    return { unfinished, requests: toKnownRequests([...answered, ...waiting]) }
  }

  /** Answered requests after a place in the session, newest first. */
  #answeredSince(seq: number): RequestRecord[] {
    const found: RequestRecord[] = []
    const sql = 'SELECT * FROM requests WHERE session = ? AND reply IS NOT NULL ORDER BY rowid DESC'
    for (const record of this.#file.statement(sql).iterate(this.#session.number)) {
      const request = record as unknown as RequestRecord
      if (request.seq < seq) break
      found.push(request)
    }
    return found
  }

  /** Each item has a number of its session, so that a young session need not count what waits. */
  #isFull(): boolean {
    const { number, state } = this.#session
    if (state.seq < MOST_INBOX_ITEMS) return false
    const last = "SELECT 1 FROM inbox WHERE session = ? AND state = 'waiting' LIMIT 1 OFFSET ?"
    return this.#file.statement(last).get(number, MOST_INBOX_ITEMS - 1) !== undefined
  }

  #ofKind(kind: InboxRecord['kind']): WaitingInput[] {
    return this.#all<InboxRecord>('inbox', "state = 'waiting' AND kind = ? ORDER BY seq", kind).map(toWaitingInput)
  }

  #waiting(delivery: Delivery, afterSeq: number, limit: number): WaitingInput[] {
    const where = "state = 'waiting' AND delivery = ? AND seq > ? ORDER BY seq LIMIT ?"
    return this.#all<InboxRecord>('inbox', where, delivery, afterSeq, limit).map(toWaitingInput)
  }

  #messages(where: string, ...values: SQLInputValue[]): StoredMessage[] {
    const sql = `SELECT ${MESSAGE_COLUMNS} FROM messages WHERE session = ? AND ${where}`
    const rows = this.#file.statement(sql).all(this.#session.number, ...values)
    return (rows as unknown as MessageRow[]).map((row) => readStored(this.#file, row))
  }

  #all<T>(table: 'inbox' | 'requests', where: string, ...values: SQLInputValue[]): T[] {
    const { number, state } = this.#session
    const [session, keys] =
      table === 'inbox' ? ['session = ?', [number]] : ['workspace = ? AND sessionId = ?', [this.#workspace, state.id]]
    const sql = `SELECT * FROM ${table} WHERE ${session} AND ${where}`
    return this.#file.statement(sql).all(...keys, ...values) as T[]
  }
}
