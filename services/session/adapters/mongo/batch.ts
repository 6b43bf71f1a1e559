import type { AnyBulkWriteOperation, ClientSession, Collection, Document } from 'mongodb'
import type { Revision } from '#services/session/domain/revision.ts'
import type { Write } from '#services/session/domain/write.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { activityRecord } from '../tables/activity.ts'
import { eventRecord } from '../tables/events.ts'
import { type InboxRecord, inboxRecord, settledUpdate } from '../tables/inbox.ts'
import { messageRecord, messageUpdate, partRecords } from '../tables/messages.ts'
import { approvalRecord, requestRecord } from '../tables/permissions.ts'
import { descriptionRecord, type SessionRecord, toStateChanges } from '../tables/sessions.ts'
import { blobUses, evictions } from './blob-uses.ts'
import { type Collections, type Keyed, keyOf, partKey, type Table } from './collections.ts'
import { type Belonging, isOwned } from './hidden-sessions.ts'
import { noticeOf } from './notices.ts'
import { MongoReads } from './reads.ts'
import type { ServerState, Transaction, Unwritten } from './transaction.ts'

type AnyDocument = Keyed<Document>

type Operation = AnyBulkWriteOperation<AnyDocument>

/**
 * One attempt at a transaction on one session: use cases read through it and add revisions. These are written together
 * at the end, or before something is read that they may have changed.
 */
export class MongoBatch implements Transaction {
  readonly session: ClientSession
  readonly reads: MongoReads
  readonly #collections: Collections
  readonly #workspace: string
  readonly #sessionId: string
  readonly #pending = new Map<Table, Operation[]>()
  readonly #unwritten = new Map<string, Unwritten>()
  #document: Promise<ServerState | undefined> | undefined

  constructor(collections: Collections, workspace: string, sessionId: string, session: ClientSession) {
    this.#collections = collections
    this.#workspace = workspace
    this.#sessionId = sessionId
    this.session = session
    this.reads = new MongoReads(collections, workspace, sessionId, this)
  }

  /** The session's state with the revisions so far. */
  readState(): Promise<ServerState | undefined> {
    this.#document ??= this.reads.state()
    return this.#document
  }

  unwritten(id: string): Unwritten | undefined {
    return this.#unwritten.get(id)
  }

  /** Writes a new session with its revision; its numbers are above `base`. */
  create(record: SessionRecord, revision: Revision, base: number): void {
    const _id = keyOf(record.workspace, record.sessionId)
    const document = { _id, version: 1, base, ...record }
    this.#document = undefined
    this.push('sessions', { insertOne: { document } })
    this.#addWrites(revision)
  }

  add(revision: Revision): void {
    const { state, leaseNow } = revision
    this.#document = this.readState().then((before) => before && { ...before, state, leaseNow })
    const filter = { _id: keyOf(this.#workspace, this.#sessionId) }
    const notice = revision.changed.length === 0 ? {} : { notice: noticeOf(revision.changed) }
    const update = { $set: { ...toStateChanges(revision.changes), ...notice }, $inc: { version: 1 } }
    this.push('sessions', { updateOne: { filter, update } })
    this.#addWrites(revision)
  }

  removed(): void {
    this.#document = undefined
  }

  /** Writes a message, or what statistics count of one, that belongs to no revision. */
  addWrite(write: Extract<Write, { type: 'insert' | 'count' }>): void {
    this.push(...this.#operation(write))
    if (write.type === 'insert') this.#addParts(write)
  }

  /** Frees ids for new documents; returns the first one that is in use. */
  async claimIds(ids: readonly string[]): Promise<string | undefined> {
    const keys = { _id: { $in: ids.map((id) => keyOf(this.#workspace, id)) } }
    const options = { session: this.session, maxTimeMS: MAX_TIME_MS, projection: { id: 1, sessionId: 1, seq: 1 } }
    const { inbox, messages } = this.#collections
    const items = await inbox.find<Belonging & { id: string }>(keys, options).toArray()
    const documents = [...items, ...(await messages.find<Belonging & { id: string }>(keys, options).toArray())]
    for (const record of documents) {
      if (await isOwned(this.#collections, this.#workspace, record, this.session)) return record.id
    }
    for (const { id } of documents) await this.evict(id)
    return undefined
  }

  async evict(id: string): Promise<void> {
    for (const [table, operation] of await evictions(this.#collections, this.#workspace, id, this.session)) {
      this.push(table, operation as Operation)
    }
  }

  async flush(): Promise<void> {
    for (const [table, operations] of this.#pending) {
      const collection = this.#collections[table] as unknown as Collection<AnyDocument>
      await collection.bulkWrite(operations, { session: this.session, maxTimeMS: MAX_TIME_MS })
    }
    this.#pending.clear()
    this.#unwritten.clear()
  }

  #addWrites(revision: Revision): void {
    for (const write of revision.writes) {
      if (write.type !== 'update' || write.own) this.push(...this.#operation(write))
      if (write.type === 'insert' || write.type === 'update') this.#addParts(write)
    }
  }

  #operation(write: Write): [Table, Operation] {
    const workspace = this.#workspace
    const insert = (record: { readonly id: string; readonly data: string }): Operation => {
      this.#use(record.id, record.data)
      return { insertOne: { document: { _id: keyOf(workspace, record.id), ...record } } }
    }
    const put = (record: { readonly id: string }): Operation => {
      const replacement = { _id: keyOf(workspace, record.id), ...record }
      return { replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } }
    }
    const update = (id: string, changes: object): Operation => {
      return { updateOne: { filter: { _id: keyOf(workspace, id) }, update: { $set: changes } } }
    }
    switch (write.type) {
      case 'admit':
        return ['inbox', insert(this.#remember(inboxRecord(workspace, write)))]
      case 'deliver':
      case 'cancel':
        this.#unwritten.set(write.id, 'changed')
        return ['inbox', update(write.id, settledUpdate(write))]
      case 'redeliver':
        this.#unwritten.set(write.id, 'changed')
        return ['inbox', update(write.id, { delivery: write.delivery })]
      case 'insert':
        return ['messages', insert(messageRecord(workspace, this.#sessionId, write))]
      case 'update':
        return ['messages', update(write.message.messageId, messageUpdate(write.message))]
      case 'event':
        return ['events', insert(eventRecord(workspace, write))]
      case 'count':
        return ['activity', put(activityRecord(workspace, this.#sessionId, write))]
      case 'request':
        return ['requests', insert(requestRecord(workspace, write))]
      case 'answer':
        return ['requests', update(write.requestId, { reply: write.reply, message: write.message })]
      case 'describe':
        return ['sessions', update(this.#sessionId, descriptionRecord(write))]
      case 'approve': {
        const $setOnInsert = approvalRecord(workspace, write)
        const { projectId, action, pattern } = $setOnInsert
        const _id = JSON.stringify([workspace, projectId, action, pattern])
        return ['approvals', { updateOne: { filter: { _id }, update: { $setOnInsert }, upsert: true } }]
      }
    }
  }

  #addParts(write: Extract<Write, { type: 'insert' | 'update' }>): void {
    for (const part of partRecords(this.#workspace, write)) {
      this.#use(part.message, part.data)
      const replacement = { _id: partKey(part), ...part }
      this.push('parts', { replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } })
    }
  }

  #use(message: string, json: string): void {
    for (const replacement of blobUses(this.#workspace, message, json)) {
      this.push('blobUses', { replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } })
      // So that the server does not let it be deleted at the same time: copied content is not held.
      this.push('blobs', { updateOne: { filter: { _id: replacement.blob }, update: { $inc: { version: 1 } } } })
    }
  }

  #remember(record: InboxRecord): InboxRecord {
    this.#unwritten.set(record.id, record)
    return record
  }

  /** Adds an operation, which is written together with the others. */
  push(table: Table, operation: Operation): void {
    const operations = this.#pending.get(table)
    if (operations === undefined) this.#pending.set(table, [operation])
    else operations.push(operation)
  }
}
