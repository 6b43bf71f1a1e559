import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type { CreateSession } from '#services/session/domain/new-session.ts'
import { type NewId, Revision } from '#services/session/domain/revision.ts'
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
import type { Mongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { storeTimeLeft } from '#shared/telemetry/request-scope.ts'
import { joinPorts } from '../common/join-ports.ts'
import { leaseLost, requireSession } from '../common/refusals.ts'
import { MONGO } from '../schema.ts'
import { newSessionRecord } from '../tables/sessions.ts'
import { type Collections, collectionsOf } from './collections.ts'
import { MongoEventLog } from './events/event-log.ts'
import { giveUpStaged, readBase } from './hidden-sessions.ts'
import { MongoLeases } from './leases.ts'
import { MongoNotices } from './notices.ts'
import type { MongoJob } from './queue.ts'
import { MongoQueue } from './queue.ts'
import { MongoReads } from './reads.ts'
import { MongoRemoval } from './removal.ts'
import { MongoSessionLists } from './session-lists.ts'
import { MongoStaging } from './staging.ts'
import type { StoreParts } from './store-parts.ts'
import type { ServerState } from './transaction.ts'

/**
 * Sessions in MongoDB, shared by any number of processes. An empty database gets the schema. Disposing the store leaves
 * the connection open.
 */
export async function openMongoSessionStore(options: {
  readonly mongo: Mongo
  readonly clock: Clock
  readonly newId?: NewId
}): Promise<SessionStore> {
  const { mongo, clock, newId = (prefix) => timedId(prefix, clock) } = options
  await prepareMongoSchema(mongo, MONGO)
  const collections = collectionsOf(mongo.db)
  const queue = new MongoQueue(mongo, collections)
  const parts = { mongo, collections, queue, notices: new MongoNotices(collections), clock, newId }
  const others = [new MongoSessionLists(parts), new MongoRemoval(parts), new MongoStaging(parts)] as const
  return joinPorts(new MongoSessionStore(parts), ...others)
}

/** How long a write under a lease is tried, in milliseconds: about as long as a lease lasts. */
const LEASED_MS = 15_000

class MongoSessionStore
  implements Omit<SessionStore, keyof SessionLists | keyof SessionRemoval | keyof SessionStaging>
{
  readonly #mongo: Mongo
  readonly #collections: Collections
  readonly #queue: MongoQueue
  readonly #leases: MongoLeases
  readonly #clock: Clock
  readonly #newId: NewId
  readonly #notices: MongoNotices
  readonly #log: MongoEventLog

  constructor({ mongo, collections, queue, notices, clock, newId }: StoreParts) {
    this.#mongo = mongo
    this.#collections = collections
    this.#queue = queue
    this.#leases = new MongoLeases({ mongo, collections, queue })
    this.#clock = clock
    this.#newId = newId
    this.#notices = notices
    this.#log = new MongoEventLog(collections)
  }

  probe(): Promise<void> {
    return this.#mongo.probe('session')
  }

  async createSession({ workspace, sessionId }: SessionKey, create: CreateSession, parent?: Lease): Promise<Session> {
    const key = { workspace, sessionId, fence: parent?.fence }
    return this.#run(key, async (batch) => {
      const existing = await batch.reads.sessionIfAny()
      if (existing !== undefined) return existing
      if (parent !== undefined && !(await this.#leases.keep(parent, batch.session))) throw leaseLost(parent)
      const { base, staged } = await readBase(this.#collections, workspace, sessionId, batch.session)
      if (staged) await giveUpStaged(this.#collections, { workspace, sessionId }, batch.session)
      const { session, revision } = create(this.#clock.now(), this.#newId, base)
      batch.create(newSessionRecord(workspace, session, revision.state), revision, base)
      return session
    })
  }

  async revise<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T> {
    const { result, revision } = await this.#run(key, async (batch) => {
      const { state, now, leaseNow } = this.#require(key, await batch.readState())
      const revision = new Revision(state, now, leaseNow, this.#newId)
      const result = decide(revision, await read(batch.reads))
      revision.finish()
      if (!revision.isEmpty) batch.add(revision)
      return { result, revision }
    })
    this.#notices.notify(key.workspace, key.sessionId, revision.changed)
    return result
  }

  async inspect<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    view: (view: SessionView, read: R) => T,
  ): Promise<T> {
    const reads = this.#reads(key.workspace, key.sessionId)
    const current = this.#require(key, await reads.state())
    return view(current, await read(reads))
  }

  acquireLease(owner: string, durationMs: number, except: readonly string[] = []): Promise<AcquiredLease | undefined> {
    return this.#leases.claim(owner, durationMs, except)
  }

  async renewLease(lease: Lease, durationMs: number): Promise<LeaseState> {
    const state = await this.#leases.renew(lease, durationMs)
    if (state === undefined) throw leaseLost(lease)
    return state
  }

  onChange(listener: (change: SessionChange) => void): Disposable {
    return this.#notices.listen(listener)
  }

  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem> {
    return this.#log.tail(workspace, position, signal)
  }

  async listEvents(workspace: string, sessionId: string, query: { readonly afterSeq: number; readonly limit: number }) {
    const state = await this.#reads(workspace, sessionId).state()
    this.#require({ workspace, sessionId }, state)
    return this.#log.list(workspace, sessionId, query, state?.base)
  }

  expireEvents(before: number): Promise<number> {
    return this.#log.expire(before)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#notices[Symbol.asyncDispose]()
    await this.#log[Symbol.asyncDispose]()
  }

  #reads(workspace: string, sessionId: string): MongoReads {
    return new MongoReads(this.#collections, workspace, sessionId)
  }

  #require(key: SessionKey, state: ServerState | undefined): SessionView {
    const view = state && { ...state, now: this.#clock.now() }
    requireSession(key, view)
    return view
  }

  /** Whoever holds a lease waits for the store, while a client is rejected soon. */
  #run<T>({ workspace, sessionId, fence }: SessionKey, job: MongoJob<T>): Promise<T> {
    const patient = fence !== undefined
    const limitMs = patient ? LEASED_MS : storeTimeLeft(this.#mongo.limitMs)
    return this.#queue.run(workspace, sessionId, { limitMs, patient }, job)
  }
}
