import { type Collection, MongoServerError } from 'mongodb'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import {
  type Activity,
  type GenerationRecord,
  GenerationRecord_Status as Status,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Account } from '#services/inference/domain/ledger/account.ts'
import type { Admission, MaxCost } from '#services/inference/domain/ledger/admission.ts'
import type {
  ActivityQuery,
  Ledger,
  LedgerClosing,
  LedgerOpening,
  LedgerProgress,
} from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { randomText } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { MONGO } from '../schema.ts'
import { WORKSPACE } from '../tables/accounts.ts'
import { openRow } from '../tables/ledger.ts'
import { AccountBook } from './account-book.ts'
import { reserve } from './account-changes.ts'
import { type AccountDocument, stateOf } from './account-document.ts'
import { sumRows } from './activity.ts'
import { announceCloses, awaitCloses } from './announced-closes.ts'
import { closeRows } from './close-rows.ts'
import { Grouped } from './grouped.ts'
import { type LeaseDocument, OwnLease } from './leases.ts'
import { type Collections, closeUncalled, settleLost } from './lost-rows.ts'
import { OwnHolds } from './own-holds.ts'
import { type Row, recordOf } from './row.ts'

const DUPLICATE_KEY = 11_000
/** A failed opening that was on its way to the store may still be carried out for this long. */
const LATEST_MS = 60_000
const READ = { maxTimeMS: MAX_TIME_MS, useBigInt64: true } as const

/**
 * The ledger in MongoDB, where several processes write it. The maximum cost of a request is held in the documents of
 * its accounts (`AccountBook`), each of which is changed by guarded writes; only then is its row written. A close
 * changes the row first, and then removes the hold from each account; whoever does that counts the cost, so it is
 * counted once.
 */
export class MongoLedger implements Ledger {
  readonly #mongo: Mongo
  readonly #clock: Clock
  readonly #collections: Collections
  readonly #own = new OwnHolds()
  readonly #lease: OwnLease
  readonly #closes = new Grouped<LedgerClosing>((closings) => this.#close(closings))
  readonly #announcements = new Grouped<LedgerClosing>((closings) => this.#announce(closings))

  private constructor(mongo: Mongo, clock: Clock) {
    this.#mongo = mongo
    this.#clock = clock
    const collection = <T extends object>(name: string): Collection<T> => mongo.db.collection<T>(name)
    const accounts = collection<AccountDocument>('inference_accounts')
    const rows = collection<Row>('inference_ledger')
    const leases = collection<LeaseDocument>('inference_leases')
    this.#collections = { rows, accounts, leases, book: new AccountBook(accounts) }
    this.#lease = new OwnLease(leases, randomText(16), clock)
  }

  /** Creates the schema if there is none, and settles the rows of dead processes. Leaves the connection open. */
  static async open(mongo: Mongo, clock: Clock): Promise<MongoLedger> {
    await prepareMongoSchema(mongo, MONGO)
    const ledger = new MongoLedger(mongo, clock)
    await ledger.settle()
    return ledger
  }

  probe(): Promise<void> {
    return this.#mongo.probe('inference')
  }

  async open(opening: LedgerOpening, maxCost: MaxCost, terms: KeyTerms | undefined): Promise<Admission> {
    const { workspaceId, requestId, apiKeyId } = opening
    const now = this.#clock.now()
    const name = randomText(16)
    const process = this.#lease.process
    const { book, rows } = this.#collections
    this.#own.begin(opening, name)
    let isSent = false
    try {
      const entry = { name, requestId, process }
      const admission = await reserve(book, { workspaceId, apiKeyId, maxCost, terms, now, entry })
      if (!admission.admitted) {
        this.#own.forget(opening, name)
        return admission
      }
      // Nobody waits for it any more.
      if (!this.#own.has(name)) throw storeUnavailable('A row was opened too late')
      isSent = true
      const metadata = Object.entries(opening.metadata).map(([k, v]) => ({ k, v }))
      const own = { metadata, process, hold: name, counted: null }
      const row = { _id: { workspaceId, requestId }, ...openRow(opening, maxCost, now), ...own }
      await rows.insertOne(row, { maxTimeMS: MAX_TIME_MS })
      this.#own.opened(opening, name)
      // Nobody waits for it any more, or another process took this one for dead before it could find the row.
      if (!this.#own.has(name) || !this.#lease.lasts) throw storeUnavailable('A row was opened too late')
      return admission
    } catch (error) {
      // Whatever is held or open by now belongs to nobody: it is settled as soon as the store can be written.
      if (isSent) this.#own.failed(opening, name, this.#clock.monotonic())
      else this.#own.forget(opening, name)
      if (!isDuplicate(error)) throw error
      await this.settle()
      throw new Rejection('REQUEST_DUPLICATE', { request_id: requestId })
    }
  }

  abandon(workspaceId: string, requestId: string, wasCalled: boolean): void {
    const row = { workspaceId, requestId }
    const name = this.#own.nameOf(row)
    // A row that is still being opened is only forgotten here; `open` settles it.
    if (wasCalled || name === undefined) this.#own.forget(row)
    else this.#own.failed(row, name, this.#clock.monotonic())
  }

  close(closings: readonly LedgerClosing[]): Promise<void> {
    return this.#closes.do(closings)
  }

  async note(progress: readonly LedgerProgress[]): Promise<void> {
    const updates = progress.map(({ workspaceId, requestId, outputTokens }) => ({
      updateOne: {
        filter: { _id: { workspaceId, requestId }, status: Status.OPEN },
        update: { $set: { notedTokens: outputTokens } },
      },
    }))
    await this.#collections.rows.bulkWrite(updates, { ordered: false, maxTimeMS: MAX_TIME_MS })
  }

  announce(closings: readonly LedgerClosing[]): Promise<void> {
    return this.#announcements.do(closings)
  }

  awaitAnnounced(workspaceId: string): Promise<void> {
    return awaitCloses(this.#mongo.client, this.#collections.accounts, workspaceId)
  }

  async settle(): Promise<void> {
    const judgesLeases = await this.#lease.renew()
    const now = this.#clock.now()
    const from = this.#clock.monotonic()
    await closeUncalled(this.#collections.rows, this.#own.uncalled, now)
    await settleLost(this.#collections, { process: this.#lease.process, judgesLeases, own: this.#own, now })
    this.#own.forgetFailed(from - LATEST_MS)
  }

  async get(workspaceId: string, requestId: string): Promise<GenerationRecord | undefined> {
    const row = await this.#collections.rows.findOne({ _id: { workspaceId, requestId } }, READ)
    return row === null ? undefined : recordOf(row)
  }

  async accounts(workspaceId: string, keyIds: readonly string[]): Promise<readonly Account[]> {
    const ids = keyIds.map((owner) => ({ workspaceId, owner }))
    const projection = { holds: 0 } as const
    const documents = await this.#collections.accounts.find({ _id: { $in: ids } }, { ...READ, projection }).toArray()
    const byOwner = new Map(documents.map((document) => [document.owner, document]))
    return keyIds.map((keyId) => {
      const document = byOwner.get(keyId)
      return stateOf(document === undefined ? null : { ...document, holds: [] }).account
    })
  }

  async workspaceAccount(workspaceId: string): Promise<Account> {
    const [account] = await this.accounts(workspaceId, [WORKSPACE])
    if (account === undefined) throw new Error('An account was requested, and none was returned')
    return account
  }

  activity(query: ActivityQuery): Promise<readonly Activity[]> {
    return sumRows(this.#collections.rows, query)
  }

  async #close(closings: readonly LedgerClosing[]): Promise<void> {
    const closer = { process: this.#lease.process, own: this.#own, now: this.#clock.now() }
    await closeRows(this.#collections, closings, closer)
    for (const closing of closings) this.#own.forget(closing, this.#own.nameOf(closing))
  }

  async #announce(closings: readonly LedgerClosing[]): Promise<void> {
    const closes = closings.map((closing) => ({ ...closing, name: this.#own.nameOf(closing) ?? '' }))
    await announceCloses(this.#collections.accounts, closes)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The next process settles immediately what is still running.
    await this.#lease.end().catch(() => {})
  }
}

function isDuplicate(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY
}
