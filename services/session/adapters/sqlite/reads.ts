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
import type { Unfinished } from '#services/session/domain/settle-aborted.ts'
import type { SessionReads } from '#services/session/ports/session-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { FirstSteers, type InboxRecord, inOrder, toKnownItem, toWaitingInput } from '../common/inbox-record.ts'
import { type RequestRecord, toKnownRequest, toRequest } from '../common/records.ts'
import { toSession, toState } from '../common/session-record.ts'
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

/** The number of a session in the file, of its workspace and id. */
export const SESSION_NUMBER = '(SELECT number FROM sessions WHERE workspace = ? AND id = ?)'

/** The state of a session and its number, or undefined when there is none. */
export function readState(file: SqliteFile, workspace: string, sessionId: string) {
  const row = file.rows(STATE_SQL).get(workspace, sessionId) as unknown as [number, ...StateRow] | undefined
  if (row === undefined) return undefined
  const [number, ...state] = row
  return { number, state: toState(toStateRecord(state)) }
}

/** A session, or undefined when there is none. */
export function readSession(file: SqliteFile, workspace: string, sessionId: string): Session | undefined {
  const row = file.rows(SESSION_SQL).get(workspace, sessionId) as unknown as SessionRow | undefined
  return row && toSession(toPublicRecord(row))
}

/** What is read of one session. */
export class SqliteReads implements SessionReads {
  readonly #file: SqliteFile
  readonly #workspace: string
  readonly #sessionId: string
  readonly #takenId: (id: string) => TakenId | undefined

  constructor(file: SqliteFile, workspace: string, sessionId: string, takenId: (id: string) => TakenId | undefined) {
    this.#file = file
    this.#takenId = takenId
    this.#workspace = workspace
    this.#sessionId = sessionId
  }

  takenId(id: string): TakenId | undefined {
    return this.#takenId(id)
  }

  admissionReads(id: string): AdmissionReads {
    const last = `SELECT 1 FROM inbox WHERE session = ${SESSION_NUMBER} AND state = 'waiting' LIMIT 1 OFFSET ?`
    const full = this.#file.statement(last).get(this.#workspace, this.#sessionId, MOST_INBOX_ITEMS - 1) !== undefined
    return { taken: this.takenId(id), full }
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
    const where = `session = ${SESSION_NUMBER} AND state = 'waiting' AND delivery = 'steer' ORDER BY seq LIMIT ?`
    const steers = this.#file.statement(`SELECT * FROM inbox WHERE ${where}`)
    for (const record of steers.iterate(this.#workspace, this.#sessionId, FirstSteers.read)) {
      if (!first.add(record as unknown as InboxRecord)) break
    }
    return { steers: first.steers, queued: this.#waiting('queue', 0, 2), more: first.more }
  }

  stepReads(afterSeq: number): StepReads {
    return {
      session: readSession(this.#file, this.#workspace, this.#sessionId) as Session,
      waiting: this.waiting(),
      transcript: this.#messages('seq > ? ORDER BY seq', afterSeq),
    }
  }

  request(id: string): KnownRequest | undefined {
    return this.#all<RequestRecord>('requests', 'id = ?', id).map(toKnownRequest)[0]
  }

  waitingRequests(): PermissionRequest[] {
    return this.#all<RequestRecord>('requests', 'reply IS NULL ORDER BY seq').map(toRequest)
  }

  waitingRequestIds(): string[] {
    const sql = 'SELECT id FROM requests WHERE workspace = ? AND sessionId = ? AND reply IS NULL ORDER BY seq'
    return this.#file
      .statement(sql)
      .all(this.#workspace, this.#sessionId)
      .map(({ id }) => id as string)
  }

  unfinished(): Unfinished {
    const found = this.#messages('unfinished = 1 ORDER BY seq')
    const unfinished = found.map(({ message }) => message as Unfinished['unfinished'][number])
    return { unfinished, requests: this.waitingRequests() }
  }

  #ofKind(kind: InboxRecord['kind']): WaitingInput[] {
    return this.#all<InboxRecord>('inbox', "state = 'waiting' AND kind = ? ORDER BY seq", kind).map(toWaitingInput)
  }

  #waiting(delivery: Delivery, afterSeq: number, limit: number): WaitingInput[] {
    const where = "state = 'waiting' AND delivery = ? AND seq > ? ORDER BY seq LIMIT ?"
    return this.#all<InboxRecord>('inbox', where, delivery, afterSeq, limit).map(toWaitingInput)
  }

  #messages(where: string, ...values: SQLInputValue[]): StoredMessage[] {
    const sql = `SELECT ${MESSAGE_COLUMNS} FROM messages WHERE session = ${SESSION_NUMBER} AND ${where}`
    const rows = this.#file.statement(sql).all(this.#workspace, this.#sessionId, ...values)
    return (rows as unknown as MessageRow[]).map((row) => readStored(this.#file, row))
  }

  #all<T>(table: string, where: string, ...values: SQLInputValue[]): T[] {
    const session = table !== 'requests' ? `session = ${SESSION_NUMBER}` : 'workspace = ? AND sessionId = ?'
    const sql = `SELECT * FROM ${table} WHERE ${session} AND ${where}`
    return this.#file.statement(sql).all(this.#workspace, this.#sessionId, ...values) as T[]
  }
}
