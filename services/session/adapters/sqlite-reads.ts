import type { SQLInputValue } from 'node:sqlite'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { WaitingInput, WaitingInputs } from '../domain/inputs.ts'
import type { AssistantMessage } from '../domain/message.ts'
import type { PermissionRequest } from '../domain/permission.ts'
import type { Session } from '../domain/session.ts'
import type { StoredMessage } from '../ports.ts'
import { type MessageRecord, type RequestRecord, toRequest, toStoredMessage, toWaitingInput } from './records.ts'
import type { Reads } from './revising-store.ts'
import {
  type PublicRecord,
  SESSION_FIELDS,
  STATE_FIELDS,
  type StateRecord,
  toSession,
  toState,
} from './session-record.ts'

const SESSION_SQL = `SELECT ${SESSION_FIELDS.join(', ')} FROM sessions WHERE workspace = ? AND id = ?`
const STATE_SQL = `SELECT number, ${STATE_FIELDS.join(', ')} FROM sessions WHERE workspace = ? AND id = ?`

/** The number of a session in the file, of its workspace and id. */
export const SESSION_NUMBER = '(SELECT number FROM sessions WHERE workspace = ? AND id = ?)'

/** The state of a session and its number, or undefined when there is none. */
export function readState(file: SqliteFile, workspace: string, sessionId: string) {
  const record = file.statement(STATE_SQL).get(workspace, sessionId)
  if (record === undefined) return undefined
  return { number: record.number as number, state: toState(record as unknown as StateRecord) }
}

/** A session, or undefined when there is none. */
export function readSession(file: SqliteFile, workspace: string, sessionId: string): Session | undefined {
  const record = file.statement(SESSION_SQL).get(workspace, sessionId) as PublicRecord | undefined
  return record && toSession(record)
}

/** What rules read of one session. */
export class SqliteReads implements Reads {
  readonly #file: SqliteFile
  readonly #workspace: string
  readonly #sessionId: string

  constructor(file: SqliteFile, workspace: string, sessionId: string) {
    this.#file = file
    this.#workspace = workspace
    this.#sessionId = sessionId
  }

  session(): Session {
    return readSession(this.#file, this.#workspace, this.#sessionId) as Session
  }

  message(id: string): MessageRecord | undefined {
    const sql = 'SELECT * FROM messages WHERE workspace = ? AND id = ?'
    return this.#file.statement(sql).get(this.#workspace, id) as MessageRecord | undefined
  }

  transcript(afterSeq: number): StoredMessage[] {
    return this.#all<MessageRecord>('messages', 'seq > ? ORDER BY seq', afterSeq).map(toStoredMessage)
  }

  waitingInputs(): WaitingInputs {
    const inputs = (delivery: string, limit: number): WaitingInput[] => {
      const where = 'seq IS NULL AND delivery = ? ORDER BY admitted LIMIT ?'
      return this.#all<MessageRecord>('messages', where, delivery, limit).map(toWaitingInput)
    }
    return { steers: inputs('steer', -1), queued: inputs('queue', 2) }
  }

  request(id: string): RequestRecord | undefined {
    return this.#all<RequestRecord>('requests', 'id = ?', id)[0]
  }

  waitingRequests(): PermissionRequest[] {
    return this.#all<RequestRecord>('requests', 'reply IS NULL ORDER BY seq').map(toRequest)
  }

  leftovers(): { steps: AssistantMessage[]; requests: PermissionRequest[] } {
    const steps = this.#all<MessageRecord>('messages', 'unfinished = 1 ORDER BY seq')
    return {
      steps: steps.map((record) => toStoredMessage(record).message as AssistantMessage),
      requests: this.waitingRequests(),
    }
  }

  #all<T>(table: string, where: string, ...values: SQLInputValue[]): T[] {
    const session = table === 'messages' ? `session = ${SESSION_NUMBER}` : 'workspace = ? AND sessionId = ?'
    const sql = `SELECT * FROM ${table} WHERE ${session} AND ${where}`
    return this.#file.statement(sql).all(this.#workspace, this.#sessionId, ...values) as T[]
  }
}
