import type { CreateSession } from '#services/session/domain/new-session.ts'
import { type NewId, Revision } from '#services/session/domain/revision.ts'
import type { Session } from '#services/session/domain/session.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'
import type { AcquiredLease, Lease, LeaseState, SessionKey } from '#services/session/ports/lease.ts'
import type { SessionLists } from '#services/session/ports/session-lists.ts'
import type { SessionRemoval } from '#services/session/ports/session-removal.ts'
import type { SessionStaging } from '#services/session/ports/session-staging.ts'
import type {
  Maybe,
  SessionChange,
  SessionReads,
  SessionStore,
  SessionView,
} from '#services/session/ports/session-store.ts'
import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { joinPorts } from '../common/join-ports.ts'
import { leaseLost, requireSession, stillBelow } from '../common/refusals.ts'
import { SessionChanges } from '../common/session-changes.ts'
import { newSessionRecord } from '../common/session-record.ts'
import { BlobUses } from './blob-uses.ts'
import { SqliteEventLog } from './event-log.ts'
import { HiddenSessions } from './hidden/hidden-sessions.ts'
import { SqliteRemoval } from './hidden/removal.ts'
import { SqliteStaging } from './hidden/staging.ts'
import { claimLease, hasClaim, renewLease, voidLeases } from './leases.ts'
import { readSession, readState, SqliteReads } from './reads.ts'
import { saveNewSession, saveRevision } from './save.ts'
import { STEPS } from './schema.ts'
import { SqliteSessionLists } from './session-lists.ts'
import type { StoreParts } from './store-parts.ts'
import { claimId, readTakenId } from './taken-ids.ts'
import { TitleIndex } from './titles/title-index.ts'

/**
 * Sessions in a SQLite file, which is made when it is missing, and kept from every other process. Opening it voids the
 * leases in it: nobody else can hold one.
 */
export async function openSqliteSessionStore(options: {
  readonly path: string
  readonly clock: Clock
  readonly newId?: NewId
  /** Parks what waits. */
  readonly park?: boolean
}): Promise<SessionStore & { readonly blobUses: BlobUses }> {
  const { path, clock, newId = (prefix) => timedId(prefix, clock), park = false } = options
  const file = new SqliteFile(path, { steps: STEPS, exclusive: true })
  try {
    // 16 MiB instead of 4: pages that many writes touch are copied back less often.
    file.statement('PRAGMA wal_autocheckpoint = 4000').get()
    const { log, hidden } = await file.write(() => {
      voidLeases(file, clock.now(), park)
      const hidden = new HiddenSessions(file)
      return { log: new SqliteEventLog(file, hidden), hidden }
    })
    const titles = new TitleIndex(file)
    titles.look()
    const parts = { file, log, hidden, titles, clock, newId, changes: new SessionChanges() }
    const others = [new SqliteSessionLists(parts), new SqliteRemoval(parts), new SqliteStaging(parts)] as const
    return Object.assign(joinPorts(new SqliteSessionStore(parts), ...others), { blobUses: new BlobUses(file) })
  } catch (error) {
    await file[Symbol.asyncDispose]()
    throw error
  }
}

class SqliteSessionStore
  implements Omit<SessionStore, keyof SessionLists | keyof SessionRemoval | keyof SessionStaging>
{
  readonly #file: SqliteFile
  readonly #log: SqliteEventLog
  readonly #hidden: HiddenSessions
  readonly #clock: Clock
  readonly #newId: NewId
  readonly #titles: TitleIndex
  readonly #changes: SessionChanges
  #closed: Promise<void> | undefined

  constructor({ file, log, hidden, titles, clock, newId, changes }: StoreParts) {
    this.#file = file
    this.#log = log
    this.#hidden = hidden
    this.#titles = titles
    this.#changes = changes
    this.#clock = clock
    this.#newId = newId
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  async createSession({ workspace, sessionId }: SessionKey, create: CreateSession, parent?: Lease): Promise<Session> {
    const created = await this.#file.write(() => {
      const existing = readSession(this.#file, workspace, sessionId)
      if (existing !== undefined) return existing
      if (this.#hidden.hasBelow(workspace, sessionId)) throw stillBelow()
      if (parent !== undefined) this.#find(parent)
      this.#hidden.giveUpId(workspace, sessionId)
      const { session, revision } = create(this.#clock.now(), this.#newId, this.#log.baseOf(workspace, sessionId))
      const record = newSessionRecord(workspace, session, revision.state)
      saveNewSession(this.#file, this.#log, { number: this.#hidden.next(), ...record }, revision)
      return session
    })
    this.#log.wake(workspace)
    this.#titles.wrote()
    return created
  }

  async revise<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T> {
    const { workspace, sessionId: id } = key
    const { result, revision } = await this.#file.write(() => {
      const { number, state, now } = this.#find(key)
      const revision = new Revision(state, now, now, this.#newId)
      // What SqliteReads returns is there at once.
      const result = decide(revision, read(this.#reads(key, claimId)) as R)
      revision.finish()
      if (!revision.isEmpty) {
        saveRevision(this.#file, this.#log, { workspace, id, number }, revision)
        this.#titles.touched(number, state.timeUpdated, revision.state.timeUpdated)
      }
      return { result, revision }
    })
    this.#changes.notify(workspace, id, revision.changed)
    if (revision.writes.length > 0) this.#log.wake(workspace)
    this.#titles.wrote()
    return result
  }

  async inspect<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    view: (view: SessionView, read: R) => T,
  ): Promise<T> {
    const found = this.#find(key)
    return view(found, read(this.#reads(key, readTakenId)) as R)
  }

  async acquireLease(
    owner: string,
    durationMs: number,
    except: readonly string[] = [],
  ): Promise<AcquiredLease | undefined> {
    if (!hasClaim(this.#file, this.#clock.now(), except)) return undefined
    return this.#file.write(() => claimLease(this.#file, owner, this.#clock.now(), durationMs, except))
  }

  async renewLease(lease: Lease, durationMs: number): Promise<LeaseState> {
    const state = await this.#file.write(() => renewLease(this.#file, lease, this.#clock.now(), durationMs))
    if (state === undefined) throw leaseLost(lease)
    return state
  }

  onChange(listener: (change: SessionChange) => void): Disposable {
    return this.#changes.listen(listener)
  }

  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem> {
    return this.#log.tail(workspace, position, signal)
  }

  async listEvents(workspace: string, sessionId: string, query: { readonly afterSeq: number; readonly limit: number }) {
    return this.#log.list(this.#find({ workspace, sessionId }).number, query)
  }

  async expireEvents(before: number): Promise<number> {
    for (;;) {
      const { count, done } = await this.#file.write(() => this.#log.expired.expire(before))
      if (count > 0 || done) return count
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#log[Symbol.dispose]()
    this.#closed ??= this.#file[Symbol.asyncDispose]()
    await this.#closed
  }

  #reads({ workspace, sessionId }: SessionKey, takenId: typeof readTakenId): SqliteReads {
    return new SqliteReads(this.#file, workspace, sessionId, (id) => takenId(this.#file, this.#hidden, workspace, id))
  }

  #find(key: SessionKey): SessionView & { readonly number: number } {
    const now = this.#clock.now()
    const found = readState(this.#file, key.workspace, key.sessionId)
    const view = found && { ...found, now, leaseNow: now }
    requireSession(key, view)
    return view
  }
}
