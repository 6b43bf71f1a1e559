import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type { CreateSession } from '#services/session/domain/new-session.ts'
import { Revision } from '#services/session/domain/revision.ts'
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
import { leaseLost, requireSession } from '../common/refusals.ts'
import { newSessionRecord } from '../tables/sessions.ts'
import { claimLease, hasClaim, renewLease } from './leases.ts'
import { readSession, readState, SqliteReads } from './reads.ts'
import { saveNewSession, saveRevision } from './save.ts'
import type { StoreParts } from './store-parts.ts'
import { claimId, readTakenId } from './taken-ids.ts'

interface StateView extends SessionView {
  readonly number: number
}

/** See SessionStore; other classes implement the methods that are left out here. */
export class SqliteSessionStore
  implements Omit<SessionStore, keyof SessionLists | keyof SessionRemoval | keyof SessionStaging>
{
  readonly #parts: StoreParts
  #closed: Promise<void> | undefined

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  probe(): Promise<void> {
    return this.#parts.file.probe()
  }

  async createSession({ workspace, sessionId }: SessionKey, create: CreateSession, parent?: Lease): Promise<Session> {
    const { file, log, hidden, clock, newId } = this.#parts
    const created = await file.decideAndWrite(
      () => {
        const existing = readSession(file, workspace, sessionId)
        if (existing !== undefined) return { session: existing, revision: undefined, isHidden: false }
        const { lastSeq, isHidden } = hidden.earlier(workspace, sessionId)
        if (parent !== undefined) this.#find(parent)
        return { ...create(clock.now(), newId, lastSeq), isHidden }
      },
      ({ session, revision, isHidden }) => {
        if (revision === undefined) return session
        if (isHidden) hidden.giveUpId(workspace, sessionId)
        saveNewSession(this.#parts, hidden.next(), newSessionRecord(workspace, session, revision.state), revision)
        return session
      },
    )
    log.wake(workspace)
    return created
  }

  async revise<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T> {
    const { workspace, sessionId: id } = key
    const { file, log, changes, newId } = this.#parts
    const { result, revision } = await file.decideAndWrite(
      () => {
        const view = this.#find(key)
        const { number, state, now } = view
        const revision = new Revision(state, now, now, newId)
        // What SqliteReads returns is there at once.
        const result = decide(revision, read(this.#reads(workspace, view, claimId)) as R)
        revision.finish()
        return { result, revision, number }
      },
      (decided) => {
        const { revision, number } = decided
        if (revision.isEmpty) return decided
        saveRevision(file, log, { workspace, id, number }, revision)
        return decided
      },
    )
    changes.notify(workspace, id, revision.changed)
    if (revision.writes.length > 0) log.wake(workspace)
    return result
  }

  async inspect<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    view: (view: SessionView, read: R) => T,
  ): Promise<T> {
    const current = this.#find(key)
    return view(current, read(this.#reads(key.workspace, current, readTakenId)) as R)
  }

  async acquireLease(
    owner: string,
    durationMs: number,
    except: readonly string[] = [],
  ): Promise<AcquiredLease | undefined> {
    const { file, clock } = this.#parts
    if (!hasClaim(file, clock.now(), except)) return undefined
    return file.write(() => claimLease(file, owner, clock.now(), durationMs, except))
  }

  async renewLease(lease: Lease, durationMs: number): Promise<LeaseState> {
    const { file, clock } = this.#parts
    const state = await file.write(() => renewLease(file, lease, clock.now(), durationMs))
    if (state === undefined) throw leaseLost(lease)
    return state
  }

  onChange(listener: (change: SessionChange) => void): Disposable {
    return this.#parts.changes.listen(listener)
  }

  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem> {
    return this.#parts.log.tail(workspace, position, signal)
  }

  async listEvents(workspace: string, sessionId: string, query: { readonly afterSeq: number; readonly limit: number }) {
    return this.#parts.log.list(workspace, this.#find({ workspace, sessionId }).number, query)
  }

  async expireEvents(before: number): Promise<number> {
    const { file, log } = this.#parts
    for (;;) {
      const { count, done } = await file.write(() => log.expired.expire(before))
      if (count > 0 || done) return count
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#parts.log[Symbol.dispose]()
    this.#closed ??= this.#parts.file[Symbol.asyncDispose]()
    await this.#closed
  }

  #reads(workspace: string, state: StateView, takenId: typeof readTakenId): SqliteReads {
    const { file, hidden } = this.#parts
    return new SqliteReads(file, workspace, state, (id) => takenId(file, hidden, workspace, id))
  }

  #find(key: SessionKey): StateView {
    const now = this.#parts.clock.now()
    const state = readState(this.#parts.file, key.workspace, key.sessionId)
    const view = state && { ...state, now, leaseNow: now }
    requireSession(key, view)
    return view
  }
}
