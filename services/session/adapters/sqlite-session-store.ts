import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import type { PermissionRequest, PermissionRule } from '../domain/permission.ts'
import { type NewId, Revision } from '../domain/revision.ts'
import type { Session } from '../domain/session.ts'
import type {
  AcquiredLease,
  MessageQuery,
  NewSession,
  Page,
  SessionChange,
  SessionQuery,
  SessionStore,
  StoredMessage,
  TailItem,
} from '../ports.ts'
import { DrainingStore } from './draining-store.ts'
import { toStoredMessage } from './records.ts'
import { requireSession } from './refusals.ts'
import type { Found, Maybe, Reads, Target } from './revising-store.ts'
import { SessionChanges } from './session-changes.ts'
import { newSession, newSessionRecord, newState } from './session-record.ts'
import { SqliteEventLog } from './sqlite-event-log.ts'
import { claimLease, hasClaim, voidLeases } from './sqlite-leases.ts'
import { listActive, listMessages, listPermissionRequests, listSessions } from './sqlite-lists.ts'
import { readSession, readState, SqliteReads } from './sqlite-reads.ts'
import { saveNewSession, saveRevision } from './sqlite-save.ts'
import { STEPS } from './sqlite-schema.ts'

/**
 * Sessions in a SQLite file, which is made when it is missing, and kept from every other process. Opening it voids the
 * leases in it: nobody else can hold one.
 */
export async function openSqliteSessionStore(options: {
  readonly path: string
  readonly clock: Clock
  readonly newId?: NewId
}): Promise<SessionStore> {
  const { path, clock, newId = (prefix) => timedId(prefix, clock) } = options
  const file = new SqliteFile(path, { steps: STEPS, exclusive: true })
  try {
    // 16 MiB instead of 4: pages that many writes touch are copied back less often.
    file.statement('PRAGMA wal_autocheckpoint = 4000').get()
    const log = await file.write(() => {
      voidLeases(file, clock.now())
      return new SqliteEventLog(file)
    })
    return new SqliteSessionStore(file, log, clock, newId)
  } catch (error) {
    await file[Symbol.asyncDispose]()
    throw error
  }
}

/** With the session's number in the file. */
interface NumberedFound extends Found {
  readonly number: number
}

class SqliteSessionStore extends DrainingStore implements SessionStore {
  readonly #file: SqliteFile
  readonly #log: SqliteEventLog
  readonly #clock: Clock
  readonly #newId: NewId
  readonly #changes = new SessionChanges()
  #closed: Promise<void> | undefined

  constructor(file: SqliteFile, log: SqliteEventLog, clock: Clock, newId: NewId) {
    super()
    this.#file = file
    this.#log = log
    this.#clock = clock
    this.#newId = newId
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  async createSession(workspace: string, input: NewSession): Promise<Session> {
    const answer = await this.#file.write(() => {
      const existing = readSession(this.#file, workspace, input.id)
      if (existing !== undefined) return existing
      const now = this.#clock.now()
      const session = newSession(input, now)
      const revision = new Revision(newState(session), now, now, this.#newId)
      revision.event({ type: 'session-created', session })
      saveNewSession(this.#file, this.#log, newSessionRecord(workspace, session, revision.state), revision)
      return session
    })
    this.#tell(workspace, input.id)
    return answer
  }

  async getSession(workspace: string, sessionId: string): Promise<Session | undefined> {
    return readSession(this.#file, workspace, sessionId)
  }

  async listSessions(workspace: string, query: SessionQuery): Promise<Page<Session>> {
    return listSessions(this.#file, workspace, query)
  }

  async listMessages(workspace: string, sessionId: string, query: MessageQuery) {
    const page = listMessages(this.#file, workspace, sessionId, query)
    if (page.items.length === 0 && this.find(workspace, sessionId) === undefined) return undefined
    return page
  }

  async getMessage(workspace: string, sessionId: string, messageId: string): Promise<StoredMessage | undefined> {
    const record = this.reads(workspace, sessionId).message(messageId)
    if (record === undefined || record.seq === null || record.sessionId !== sessionId) return undefined
    return toStoredMessage(record)
  }

  async listActive(workspace: string): Promise<readonly string[]> {
    return listActive(this.#file, workspace, this.#clock.now())
  }

  async listPermissionRequests(workspace: string, sessionId?: string): Promise<readonly PermissionRequest[]> {
    return listPermissionRequests(this.#file, workspace, sessionId, this.#clock.now())
  }

  async savedApprovals(workspace: string, projectId: string): Promise<readonly PermissionRule[]> {
    const sql = `SELECT action, pattern AS resource, 'allow' AS effect FROM approvals WHERE workspace = ? AND projectId = ?`
    return this.#file.statement(sql).all(workspace, projectId) as unknown as PermissionRule[]
  }

  async acquireLease(
    owner: string,
    durationMs: number,
    except: readonly string[] = [],
  ): Promise<AcquiredLease | undefined> {
    if (!hasClaim(this.#file, this.#clock.now(), except)) return undefined
    const lease = await this.#file.write(() => claimLease(this.#file, owner, this.#clock.now(), durationMs, except))
    if (lease !== undefined) this.#changes.tell(lease.workspace, lease.sessionId)
    return lease
  }

  onChange(listener: (change: SessionChange) => void): Disposable {
    return this.#changes.listen(listener)
  }

  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem> {
    return this.#log.tail(workspace, position, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#log[Symbol.dispose]()
    this.#closed ??= this.#file[Symbol.asyncDispose]()
    await this.#closed
  }

  protected override async revise<R, T>(
    target: Target,
    read: (reads: Reads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T> {
    const { workspace, sessionId } = target
    let wrote = false
    const answer = await this.#file.write(() => {
      const found = this.find(workspace, sessionId)
      requireSession(target, found)
      const revision = new Revision(found.state, found.now, found.leaseNow, this.#newId)
      // What SqliteReads answers is there at once.
      const answer = decide(revision, read(this.reads(workspace, sessionId)) as R)
      revision.finish()
      wrote = !revision.isEmpty
      if (wrote) saveRevision(this.#file, this.#log, { workspace, id: sessionId, number: found.number }, revision)
      return answer
    })
    if (wrote) this.#tell(workspace, sessionId)
    return answer
  }

  protected override find(workspace: string, sessionId: string): NumberedFound | undefined {
    const found = readState(this.#file, workspace, sessionId)
    const now = this.#clock.now()
    return found && { ...found, now, leaseNow: now }
  }

  protected override reads(workspace: string, sessionId: string): SqliteReads {
    return new SqliteReads(this.#file, workspace, sessionId)
  }

  #tell(workspace: string, sessionId: string): void {
    this.#changes.tell(workspace, sessionId)
    this.#log.wake(workspace)
  }
}
