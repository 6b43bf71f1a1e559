import type { ClientSession, Filter, FindOptions } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { WaitingInput, WaitingInputs } from '../domain/inputs.ts'
import type { AssistantMessage } from '../domain/message.ts'
import type { PermissionRequest } from '../domain/permission.ts'
import type { Session } from '../domain/session.ts'
import type { SessionState } from '../domain/session-state.ts'
import type { StoredMessage } from '../ports.ts'
import { type Collections, type Keyed, keyOf, SERVER_NOW } from './mongo-collections.ts'
import { type MessageRecord, type RequestRecord, toRequest, toStoredMessage, toWaitingInput } from './records.ts'
import type { Reads } from './revising-store.ts'
import { type SessionRecord, STATE_FIELDS, type StateRecord, toSession, toState } from './session-record.ts'

const STATE_PROJECTION = { ...Object.fromEntries(STATE_FIELDS.map((field) => [field, 1])), leaseNow: SERVER_NOW }

/** The transaction that is read in. */
export interface Transaction {
  readonly session: ClientSession
  /** A message that the transaction adds but has not written yet. */
  added(id: string): MessageRecord | undefined
  /** Writes what is not written yet. */
  flush(): Promise<void>
}

/** The state of a session, and the server's time. */
export interface ServerState {
  readonly state: SessionState
  readonly leaseNow: number
}

/** What rules read of one session, in a transaction or outside of any. */
export class MongoReads implements Reads {
  readonly #collections: Collections
  readonly #workspace: string
  readonly #sessionId: string
  readonly #transaction: Transaction | undefined
  readonly #options: { readonly session?: ClientSession; readonly maxTimeMS: number }

  constructor(collections: Collections, workspace: string, sessionId: string, transaction?: Transaction) {
    this.#collections = collections
    this.#workspace = workspace
    this.#sessionId = sessionId
    this.#transaction = transaction
    this.#options = { maxTimeMS: MAX_TIME_MS, ...(transaction === undefined ? {} : { session: transaction.session }) }
  }

  async state(): Promise<ServerState | undefined> {
    await this.#transaction?.flush()
    const record = await this.#collections.sessions.findOne<StateRecord & { readonly leaseNow: number }>(
      { _id: keyOf(this.#workspace, this.#sessionId) },
      { ...this.#options, projection: STATE_PROJECTION },
    )
    return record === null ? undefined : { state: toState(record), leaseNow: record.leaseNow }
  }

  async sessionIfAny(): Promise<Session | undefined> {
    await this.#transaction?.flush()
    const _id = keyOf(this.#workspace, this.#sessionId)
    const record = await this.#collections.sessions.findOne<SessionRecord>({ _id }, this.#options)
    return record === null ? undefined : toSession(record)
  }

  async session(): Promise<Session> {
    return (await this.sessionIfAny()) as Session
  }

  async message(id: string): Promise<MessageRecord | undefined> {
    const added = this.#transaction?.added(id)
    if (added !== undefined) return added
    const _id = keyOf(this.#workspace, id)
    return (await this.#collections.messages.findOne<MessageRecord>({ _id }, this.#options)) ?? undefined
  }

  async transcript(afterSeq: number): Promise<StoredMessage[]> {
    return (await this.#messages({ seq: { $gt: afterSeq } }, { sort: { seq: 1 } })).map(toStoredMessage)
  }

  async waitingInputs(): Promise<WaitingInputs> {
    const inputs = async (delivery: 'steer' | 'queue', limit: number): Promise<WaitingInput[]> => {
      const records = await this.#messages({ seq: null, delivery }, { sort: { admitted: 1 }, limit })
      return records.map(toWaitingInput)
    }
    return { steers: await inputs('steer', 0), queued: await inputs('queue', 2) }
  }

  async request(id: string): Promise<RequestRecord | undefined> {
    await this.#transaction?.flush()
    const filter = { _id: keyOf(this.#workspace, id), sessionId: this.#sessionId }
    return (await this.#collections.requests.findOne<RequestRecord>(filter, this.#options)) ?? undefined
  }

  async waitingRequests(): Promise<PermissionRequest[]> {
    await this.#transaction?.flush()
    const filter = { workspace: this.#workspace, sessionId: this.#sessionId, reply: null }
    const cursor = this.#collections.requests.find(filter, { ...this.#options, sort: { seq: 1 } })
    return (await cursor.toArray()).map(toRequest)
  }

  async leftovers(): Promise<{ steps: AssistantMessage[]; requests: PermissionRequest[] }> {
    const steps = await this.#messages({ unfinished: 1 }, { sort: { seq: 1 } })
    return {
      steps: steps.map((record) => toStoredMessage(record).message as AssistantMessage),
      requests: await this.waitingRequests(),
    }
  }

  async #messages(filter: Filter<Keyed<MessageRecord>>, options: FindOptions): Promise<MessageRecord[]> {
    await this.#transaction?.flush()
    const own = { workspace: this.#workspace, sessionId: this.#sessionId, ...filter }
    return this.#collections.messages.find(own, { ...this.#options, ...options }).toArray()
  }
}
