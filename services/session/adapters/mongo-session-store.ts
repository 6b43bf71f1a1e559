import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { storeTimeLeft } from '#shared/telemetry/request-scope.ts'
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
import { type Collections, collectionsOf } from './mongo-collections.ts'
import { MongoEventLog } from './mongo-event-log.ts'
import { listActive, MongoLeases } from './mongo-leases.ts'
import { listMessages, listPermissionRequests, listSessions } from './mongo-lists.ts'
import { MongoNotices } from './mongo-notices.ts'
import { type MongoJob, MongoQueue } from './mongo-queue.ts'
import { MongoReads } from './mongo-reads.ts'
import { SCHEMA } from './mongo-schema.ts'
import { toStoredMessage } from './records.ts'
import { requireSession } from './refusals.ts'
import type { Found, Maybe, Reads, Target } from './revising-store.ts'
import { newSession, newSessionRecord, newState } from './session-record.ts'

/**
 * Sessions in MongoDB, shared by any number of processes; their form is made where there is none.
 * Disposing the store leaves the connection open.
 */
export async function openMongoSessionStore(options: {
  readonly mongo: Mongo
  readonly clock: Clock
  readonly newId?: NewId
}): Promise<SessionStore> {
  const { mongo, clock, newId = (prefix) => timedId(prefix, clock) } = options
  await prepareMongoSchema(mongo, SCHEMA)
  return new MongoSessionStore(mongo, collectionsOf(mongo.db), clock, newId)
}

/** How long a write under a lease is tried, in milliseconds: about as long as a lease lasts. */
const LEASED_MS = 15_000

class MongoSessionStore extends DrainingStore implements SessionStore {
  readonly #mongo: Mongo
  readonly #collections: Collections
  readonly #queue: MongoQueue
  readonly #leases: MongoLeases
  readonly #clock: Clock
  readonly #newId: NewId
  readonly #notices: MongoNotices
  readonly #log: MongoEventLog

  constructor(mongo: Mongo, collections: Collections, clock: Clock, newId: NewId) {
    super()
    this.#mongo = mongo
    this.#collections = collections
    this.#queue = new MongoQueue(mongo, collections)
    this.#leases = new MongoLeases(mongo, collections)
    this.#clock = clock
    this.#newId = newId
    this.#notices = new MongoNotices(collections)
    this.#log = new MongoEventLog(collections)
  }

  probe(): Promise<void> {
    return this.#mongo.probe('session')
  }

  createSession(workspace: string, input: NewSession): Promise<Session> {
    return this.#run(workspace, input.id, false, async (batch) => {
      const existing = await batch.reads.sessionIfAny()
      if (existing !== undefined) return existing
      const now = this.#clock.now()
      const session = newSession(input, now)
      const revision = new Revision(newState(session), now, now, this.#newId)
      revision.event({ type: 'session-created', session })
      batch.create(newSessionRecord(workspace, session, revision.state), revision)
      return session
    })
  }

  getSession(workspace: string, sessionId: string): Promise<Session | undefined> {
    return this.reads(workspace, sessionId).sessionIfAny()
  }

  listSessions(workspace: string, query: SessionQuery): Promise<Page<Session>> {
    return listSessions(this.#collections, workspace, query)
  }

  async listMessages(workspace: string, sessionId: string, query: MessageQuery) {
    const page = await listMessages(this.#collections, workspace, sessionId, query)
    if (page.items.length === 0 && (await this.find(workspace, sessionId)) === undefined) return undefined
    return page
  }

  async getMessage(workspace: string, sessionId: string, messageId: string): Promise<StoredMessage | undefined> {
    const record = await this.reads(workspace, sessionId).message(messageId)
    if (record === undefined || record.seq === null || record.sessionId !== sessionId) return undefined
    return toStoredMessage(record)
  }

  listActive(workspace: string): Promise<readonly string[]> {
    return listActive(this.#collections, workspace)
  }

  listPermissionRequests(workspace: string, sessionId?: string): Promise<readonly PermissionRequest[]> {
    return listPermissionRequests(this.#collections, workspace, sessionId, this.#clock.now())
  }

  async savedApprovals(workspace: string, projectId: string): Promise<readonly PermissionRule[]> {
    const cursor = this.#collections.approvals.find({ workspace, projectId }, { maxTimeMS: MAX_TIME_MS })
    return (await cursor.toArray()).map(({ action, pattern }) => ({ action, resource: pattern, effect: 'allow' }))
  }

  async acquireLease(
    owner: string,
    durationMs: number,
    except: readonly string[] = [],
  ): Promise<AcquiredLease | undefined> {
    const lease = await this.#leases.claim(owner, durationMs, except)
    if (lease !== undefined) this.#notices.tell(lease.workspace, lease.sessionId)
    return lease
  }

  onChange(listener: (change: SessionChange) => void): Disposable {
    return this.#notices.listen(listener)
  }

  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem> {
    return this.#log.tail(workspace, position, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#notices[Symbol.asyncDispose]()
    await this.#log[Symbol.asyncDispose]()
  }

  protected override revise<R, T>(
    target: Target,
    read: (reads: Reads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T> {
    // Whoever holds a lease waits for the store; a client is told that it is away.
    return this.#run(target.workspace, target.sessionId, target.lease !== undefined, async (batch) => {
      const found = this.#at(await batch.found())
      requireSession(target, found)
      const revision = new Revision(found.state, found.now, found.leaseNow, this.#newId)
      const answer = decide(revision, await read(batch.reads))
      revision.finish()
      if (!revision.isEmpty) batch.add(revision)
      return answer
    })
  }

  protected override async find(workspace: string, sessionId: string): Promise<Found | undefined> {
    return this.#at(await this.reads(workspace, sessionId).state())
  }

  protected override reads(workspace: string, sessionId: string): MongoReads {
    return new MongoReads(this.#collections, workspace, sessionId)
  }

  #at(found: Omit<Found, 'now'> | undefined): Found | undefined {
    return found && { ...found, now: this.#clock.now() }
  }

  async #run<T>(workspace: string, sessionId: string, patient: boolean, job: MongoJob<T>): Promise<T> {
    const limitMs = patient ? LEASED_MS : storeTimeLeft(this.#mongo.limitMs)
    const answer = await this.#queue.run(workspace, sessionId, { limitMs, patient }, job)
    this.#notices.tell(workspace, sessionId)
    return answer
  }
}
