import type { ClientSession, Document, Filter } from 'mongodb'
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
import type { Unfinished } from '#services/session/domain/settle-aborted.ts'
import type { SessionReads } from '#services/session/ports/session-store.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { projectionOf } from '#shared/stores/mongo-table.ts'
import { FirstSteers, type InboxRecord, inOrder, toEntry } from '../tables/inbox.ts'
import type { MessageRecord } from '../tables/messages.ts'
import { type RequestRecord, toRequestEntries, toRequestEntry, toRequests } from '../tables/permissions.ts'
import { type SessionRecord, type StateRecord, stateColumns, toSession, toState } from '../tables/sessions.ts'
import { type Collections, type Keyed, keyOf, SERVER_NOW, type SessionDocument } from './collections.ts'
import { type Belonging, isOwned } from './hidden-sessions.ts'
import { readStored } from './messages.ts'
import { readTakenId } from './taken-ids.ts'
import type { ServerState, Transaction } from './transaction.ts'

/**
 * From this number on, waiting items are counted in the transaction: more than that are never admitted at the same
 * time.
 */
const NEARLY_FULL = MOST_INBOX_ITEMS / 2

const STATE_PROJECTION = { ...projectionOf(stateColumns), base: 1, leaseNow: SERVER_NOW }

/**
 * Reads one session, in a transaction or outside of any. `state` has to be called before anything that is read by the
 * session's id.
 */
export class MongoReads implements SessionReads {
  readonly #collections: Collections
  readonly #workspace: string
  readonly #sessionId: string
  readonly #transaction: Transaction | undefined
  /** Of the session as it was last read. */
  #base = 0
  readonly #options: { readonly session?: ClientSession; readonly maxTimeMS: number }

  constructor(collections: Collections, workspace: string, sessionId: string, transaction?: Transaction) {
    this.#collections = collections
    this.#workspace = workspace
    this.#sessionId = sessionId
    this.#transaction = transaction
    this.#options = { maxTimeMS: MAX_TIME_MS, session: transaction?.session }
  }

  async state(): Promise<ServerState | undefined> {
    await this.#transaction?.flush()
    const record = await this.#collections.sessions.findOne<
      StateRecord & Pick<ServerState, 'leaseNow'> & Pick<SessionDocument, 'base'>
    >({ _id: keyOf(this.#workspace, this.#sessionId) }, { ...this.#options, projection: STATE_PROJECTION })
    if (record === null) return undefined
    this.#base = record.base
    return { state: toState(record), leaseNow: record.leaseNow, base: this.#base }
  }

  async sessionIfAny(): Promise<Session | undefined> {
    await this.#transaction?.flush()
    const _id = keyOf(this.#workspace, this.#sessionId)
    const record = await this.#collections.sessions.findOne<SessionRecord>({ _id }, this.#options)
    return record === null ? undefined : toSession(record)
  }

  async message(id: string): Promise<StoredMessage | undefined> {
    const filter = { _id: keyOf(this.#workspace, id), ...this.#own() }
    const record = await this.#collections.messages.findOne<MessageRecord>(filter, this.#options)
    return record === null ? undefined : (await readStored(this.#collections, [record], this.#options))[0]
  }

  takenId(id: string): Promise<TakenId | undefined> {
    const isOwned = (record: Belonging) => this.#isOwned(record)
    return readTakenId(this.#collections, this.#workspace, id, { ...this.#options, isOwned }, this.#transaction)
  }

  async admissionReads(id: string): Promise<AdmissionReads> {
    const { inbox } = this.#collections
    const waiting = { ...this.#own(), state: 'waiting' } as const
    // Outside of the transaction, so that it takes no time. It does not see what others admit at the same time.
    const counted = inbox.countDocuments(waiting, { limit: MOST_INBOX_ITEMS, maxTimeMS: MAX_TIME_MS })
    const [taken, count] = await Promise.all([this.takenId(id), counted])
    if (count < NEARLY_FULL) return { taken, full: false }
    await this.#transaction?.flush()
    const exactly = await inbox.countDocuments(waiting, { ...this.#options, limit: MOST_INBOX_ITEMS })
    return { taken, full: exactly === MOST_INBOX_ITEMS }
  }

  async item(id: string): Promise<InboxEntry | undefined> {
    await this.#transaction?.flush()
    const filter = { _id: keyOf(this.#workspace, id), ...this.#own() }
    const item = await this.#collections.inbox.findOne<InboxRecord>(filter, this.#options)
    return item === null ? undefined : toEntry(item)
  }

  async moveReads(id: string): Promise<MoveReads> {
    const moves = await this.#ofKind('move')
    return { ...(await this.admissionReads(id)), moves }
  }

  async compactionReads(id: string): Promise<CompactionReads> {
    const [waiting] = await this.#ofKind('compaction')
    return { ...(await this.admissionReads(id)), waiting }
  }

  async inbox(afterSeq: number, limit: number): Promise<InboxEntry[]> {
    await this.#transaction?.flush()
    const steers = await this.#waiting(Delivery.STEER, afterSeq, limit)
    return inOrder(steers, await this.#waiting(Delivery.QUEUE, afterSeq, limit), limit)
  }

  async waiting(): Promise<WaitingInputs> {
    await this.#transaction?.flush()
    const first = new FirstSteers()
    for await (const record of this.#find(Delivery.STEER, 0, FirstSteers.read)) if (!first.add(record)) break
    return { steers: first.steers, queued: await this.#waiting(Delivery.QUEUE, 0, 2), more: first.more }
  }

  async stepReads(afterSeq: number): Promise<StepReads> {
    // First, since it writes what is pending.
    const transcript = await this.#messages({}, afterSeq)
    const session = (await this.sessionIfAny()) as Session
    return { session, waiting: await this.waiting(), transcript }
  }

  async request(id: string): Promise<RequestEntry | undefined> {
    await this.#transaction?.flush()
    const filter = { _id: keyOf(this.#workspace, id), ...this.#own() }
    const record = await this.#collections.requests.findOne<RequestRecord>(filter, this.#options)
    return record === null ? undefined : toRequestEntry(record)
  }

  async waitingRequests(): Promise<PermissionRequest[]> {
    return toRequests(await this.#unanswered<RequestRecord>({}))
  }

  async waitingRequestIds(): Promise<string[]> {
    return (await this.#unanswered<Pick<RequestRecord, 'id'>>({ _id: 0, id: 1 })).map(({ id }) => id)
  }

  async unfinished(): Promise<Unfinished> {
    const messages = await this.#messages({ unfinished: 1 })
    const unfinished = messages.map(({ message }) => message as Unfinished['unfinished'][number])
    const waiting = await this.#unanswered<RequestRecord>({})
    const first = messages[0]?.seq
    if (first === undefined) return { unfinished, requests: toRequestEntries(waiting) }
    const answered = { ...this.#own(first), reply: { $gt: 0 } } as const
    const requests = await this.#collections.requests.find<RequestRecord>(answered, this.#options).toArray()
    return { unfinished, requests: toRequestEntries([...requests, ...waiting]) }
  }

  async #ofKind(kind: 'move' | 'compaction'): Promise<InboxEntry[]> {
    await this.#transaction?.flush()
    const own = { ...this.#own(), state: 'waiting', kind } as const
    return this.#collections.inbox
      .find<InboxRecord>(own, { ...this.#options, sort: { seq: 1 } })
      .map(toEntry)
      .toArray()
  }

  async #waiting(delivery: Delivery, afterSeq: number, limit: number): Promise<InboxEntry[]> {
    return (await this.#find(delivery, afterSeq, limit).toArray()).map(toEntry)
  }

  async #unanswered<T extends Pick<RequestRecord, 'id'>>(projection: Document): Promise<T[]> {
    await this.#transaction?.flush()
    const cursor = this.#collections.requests.find<T>({ ...this.#own(), reply: null }, this.#options)
    return cursor.project<T>(projection).sort({ seq: 1 }).toArray()
  }

  #find(delivery: Delivery, afterSeq: number, limit: number) {
    const own = { ...this.#own(afterSeq), state: 'waiting', delivery } as const
    return this.#collections.inbox.find<InboxRecord>(own, { ...this.#options, sort: { seq: 1 }, limit })
  }

  #own(afterSeq = 0) {
    const seq = { $gt: Math.max(afterSeq, this.#base) }
    return { workspace: this.#workspace, sessionId: this.#sessionId, seq }
  }

  async #isOwned(record: Belonging): Promise<boolean> {
    if (record.sessionId === this.#sessionId && record.seq > this.#base) return true
    return isOwned(this.#collections, this.#workspace, record, this.#transaction?.session)
  }

  async #messages(filter: Filter<Keyed<MessageRecord>>, afterSeq = 0): Promise<StoredMessage[]> {
    await this.#transaction?.flush()
    const own = { ...this.#own(afterSeq), ...filter }
    const cursor = this.#collections.messages.find(own, { ...this.#options, sort: { seq: 1 } })
    return readStored(this.#collections, await cursor.toArray(), this.#options)
  }
}
