import type { SQLInputValue } from 'node:sqlite'
import { Delivery, type PermissionRequest, type Session } from '#gen/portico/session/v1/session_pb.js'
import type { StepReads } from '#services/session/domain/begin-step.ts'
import type { CompactionReads } from '#services/session/domain/inbox/inputs.ts'
import type { MoveReads } from '#services/session/domain/inbox/move-session.ts'
import {
  type AdmissionReads,
  type InboxEntry,
  MOST_INBOX_ITEMS,
  type TakenId,
  type WaitingInputs,
} from '#services/session/domain/inbox.ts'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { RequestEntry } from '#services/session/domain/permission/permission-requests.ts'
import type { SessionState } from '#services/session/domain/session-state.ts'
import type { Unfinished } from '#services/session/domain/settle-aborted.ts'
import type { SessionReads } from '#services/session/ports/session-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectAll, selectEach, selectOne } from '#shared/stores/sqlite-table.ts'
import { integer } from '#shared/stores/table.ts'
import { FirstSteers, type InboxRecord, inbox, inOrder, toEntry } from '../tables/inbox.ts'
import { messages } from '../tables/messages.ts'
import { type RequestRecord, requests, toRequestEntries, toRequestEntry, toRequests } from '../tables/permissions.ts'
import { sessionColumns, stateColumns, toRemoved, toSession, toState } from '../tables/sessions.ts'
import { readStored } from './messages.ts'

const OF_SESSION = 'FROM sessions WHERE workspace = ? AND sessionId = ?'
const numberedState = { number: integer(), ...stateColumns }

/** The state of a session and its number, or undefined when there is none. */
export function readState(file: SqliteFile, workspace: string, sessionId: string): FoundSession | undefined {
  const record = selectOne(file, numberedState, OF_SESSION, workspace, sessionId)
  return record && { number: record.number, state: toState(record) }
}

/** The same of what a removal needs. */
export function readRemoved(file: SqliteFile, workspace: string, sessionId: string) {
  const record = selectOne(file, numberedState, OF_SESSION, workspace, sessionId)
  return record && { number: record.number, state: toRemoved(record) }
}

/** A session, or undefined when there is none. */
export function readSession(file: SqliteFile, workspace: string, sessionId: string): Session | undefined {
  const record = selectOne(file, sessionColumns, OF_SESSION, workspace, sessionId)
  return record && toSession(record)
}

interface FoundSession {
  readonly number: number
  readonly state: SessionState
}

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

  item(id: string): InboxEntry | undefined {
    return this.#items('workspace = ? AND id = ?', this.#workspace, id).map(toEntry)[0]
  }

  moveReads(id: string): MoveReads {
    return { ...this.admissionReads(id), moves: this.#ofKind('move') }
  }

  compactionReads(id: string): CompactionReads {
    return { ...this.admissionReads(id), waiting: this.#ofKind('compaction')[0] }
  }

  inbox(afterSeq: number, limit: number): InboxEntry[] {
    return inOrder(
      this.#waiting(Delivery.STEER, afterSeq, limit),
      this.#waiting(Delivery.QUEUE, afterSeq, limit),
      limit,
    )
  }

  waiting(): WaitingInputs {
    const first = new FirstSteers()
    const steers = `FROM inbox WHERE session = ? AND state = 'waiting' AND delivery = ${Delivery.STEER} ORDER BY seq LIMIT ?`
    for (const record of selectEach(this.#file, inbox.columns, steers, this.#session.number, FirstSteers.read)) {
      if (!first.add(record)) break
    }
    return { steers: first.steers, queued: this.#waiting(Delivery.QUEUE, 0, 2), more: first.more }
  }

  stepReads(afterSeq: number): StepReads {
    return {
      session: readSession(this.#file, this.#workspace, this.#session.state.sessionId) as Session,
      waiting: this.waiting(),
      transcript: this.#messages('seq > ? ORDER BY seq', afterSeq),
    }
  }

  request(id: string): RequestEntry | undefined {
    return this.#requests('id = ?', id).map(toRequestEntry)[0]
  }

  waitingRequests(): PermissionRequest[] {
    return toRequests(this.#requests('reply IS NULL ORDER BY seq'))
  }

  waitingRequestIds(): string[] {
    const sql = 'SELECT id FROM requests WHERE workspace = ? AND sessionId = ? AND reply IS NULL ORDER BY seq'
    return this.#file
      .statement(sql)
      .all(this.#workspace, this.#session.state.sessionId)
      .map(({ id }) => id as string)
  }

  unfinished(): Unfinished {
    const messages = this.#messages('unfinished = 1 ORDER BY seq')
    const unfinished = messages.map(({ message }) => message as Unfinished['unfinished'][number])
    const waiting = this.#requests('reply IS NULL ORDER BY seq')
    const first = messages[0]?.seq
    const answered = first === undefined ? [] : this.#answeredSince(first)
    return { unfinished, requests: toRequestEntries([...answered, ...waiting]) }
  }

  /** Answered requests after a place in the session, newest first. */
  #answeredSince(seq: number): RequestRecord[] {
    const records: RequestRecord[] = []
    const answered = 'FROM requests WHERE session = ? AND reply IS NOT NULL ORDER BY rowid DESC'
    for (const request of selectEach(this.#file, requests.columns, answered, this.#session.number)) {
      if (request.seq < seq) break
      records.push(request)
    }
    return records
  }

  /** Each item has a number of its session, so that a young session need not count what waits. */
  #isFull(): boolean {
    const { number, state } = this.#session
    if (state.seq < MOST_INBOX_ITEMS) return false
    const last = "SELECT 1 FROM inbox WHERE session = ? AND state = 'waiting' LIMIT 1 OFFSET ?"
    return this.#file.statement(last).get(number, MOST_INBOX_ITEMS - 1) !== undefined
  }

  #ofKind(kind: 'move' | 'compaction'): InboxEntry[] {
    return this.#items("state = 'waiting' AND kind = ? ORDER BY seq", kind).map(toEntry)
  }

  #waiting(delivery: Delivery, afterSeq: number, limit: number): InboxEntry[] {
    const where = "state = 'waiting' AND delivery = ? AND seq > ? ORDER BY seq LIMIT ?"
    return this.#items(where, delivery, afterSeq, limit).map(toEntry)
  }

  #messages(where: string, ...values: SQLInputValue[]): StoredMessage[] {
    const own = `FROM messages WHERE session = ? AND ${where}`
    const records = selectAll(this.#file, messages.columns, own, this.#session.number, ...values)
    return records.map((record) => readStored(this.#file, record))
  }

  #items(where: string, ...values: SQLInputValue[]): InboxRecord[] {
    const own = `FROM inbox WHERE session = ? AND ${where}`
    return selectAll(this.#file, inbox.columns, own, this.#session.number, ...values)
  }

  #requests(where: string, ...values: SQLInputValue[]): RequestRecord[] {
    const own = `FROM requests WHERE workspace = ? AND sessionId = ? AND ${where}`
    return selectAll(this.#file, requests.columns, own, this.#workspace, this.#session.state.sessionId, ...values)
  }
}
