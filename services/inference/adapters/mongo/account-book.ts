import { setTimeout as delay } from 'node:timers/promises'
import { type Collection, MongoServerError } from 'mongodb'
import type { Account } from '#services/inference/domain/ledger/account.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { HoldEntry } from '../tables/accounts.ts'
import { type AccountDocument, type AccountState, stateOf } from './account-document.ts'

const DUPLICATE_KEY = 11_000
const MOST_ACCOUNTS = 1_000
/** Other processes may change the same account first; each waits at most this long before it tries again. */
const LONGEST_PAUSE_MS = 20

export interface AccountChange<T> {
  readonly account: Account
  readonly added?: readonly HoldEntry[]
  /** Names of holds. */
  readonly removed?: readonly string[]
  readonly result: T
}

type Decide<T> = (state: Pick<AccountState, 'account' | 'holds'>) => AccountChange<T> | { readonly result: T }

interface Job {
  readonly decide: Decide<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

interface Queue {
  jobs: Job[]
  busy: boolean
  /** As this process last wrote it; undefined: it must be read. */
  state: AccountState | undefined
}

/**
 * Changes accounts. Each write is guarded by the revision on which the change was decided. Changes that come during a
 * write are decided and written together, so that processes that use the same account seldom collide.
 */
export class AccountBook {
  readonly #accounts: Collection<AccountDocument>
  readonly #queues = new Map<string, Queue>()

  constructor(accounts: Collection<AccountDocument>) {
    this.#accounts = accounts
  }

  /** Decides on the current state of an account, perhaps several times; resolves after the change is durable. */
  change<T>(workspaceId: string, owner: string, decide: Decide<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const queue = this.#queueOf(workspaceId, owner)
      queue.jobs.push({ decide, resolve: resolve as (result: unknown) => void, reject })
      if (queue.busy) return
      queue.busy = true
      setImmediate(() => void this.#work({ workspaceId, owner }, queue))
    })
  }

  #queueOf(workspaceId: string, owner: string): Queue {
    const name = `${workspaceId} ${owner}`
    let queue = this.#queues.get(name)
    if (queue === undefined) {
      queue = { jobs: [], busy: false, state: undefined }
      this.#queues.set(name, queue)
      const [oldest, idle] = [...this.#queues.entries()].find(([, { busy }]) => !busy) ?? []
      if (this.#queues.size > MOST_ACCOUNTS && oldest !== undefined && idle !== queue) this.#queues.delete(oldest)
    }
    return queue
  }

  async #work(id: AccountDocument['_id'], queue: Queue): Promise<void> {
    while (queue.jobs.length > 0) {
      const jobs = queue.jobs
      queue.jobs = []
      try {
        const results = await this.#write(id, queue, jobs)
        for (const [i, job] of jobs.entries()) job.resolve(results[i])
      } catch (error) {
        queue.state = undefined
        for (const job of jobs) job.reject(error)
      }
    }
    queue.busy = false
  }

  /** The results of the jobs, once their decisions are durable. */
  async #write(id: AccountDocument['_id'], queue: Queue, jobs: readonly Job[]): Promise<unknown[]> {
    for (let attempt = 1; ; attempt++) {
      const { state: current } = queue
      const state = current ?? (await this.#read(id))
      const decided = decideAll(state, jobs)
      // A change that changes nothing is not checked by a write, and the remembered state may be outdated.
      if (decided.isSame ? current === undefined : await this.#replace(id, state, decided)) {
        queue.state = decided.isSame ? state : decided.state
        return decided.results
      }
      queue.state = undefined
      if (attempt > 2) await delay(Math.random() * LONGEST_PAUSE_MS)
    }
  }

  async #read(id: AccountDocument['_id']): Promise<AccountState> {
    const options = { maxTimeMS: MAX_TIME_MS, useBigInt64: true }
    return stateOf(await this.#accounts.findOne({ _id: id }, options))
  }

  /** Whether nobody else was faster. */
  async #replace(
    id: AccountDocument['_id'],
    before: AccountState,
    { state, added, removed }: Decided,
  ): Promise<boolean> {
    if (before.revision === 0) return this.#insert(id, state)
    const others = { $filter: { input: '$holds', cond: { $not: { $in: ['$$this.name', { $literal: removed }] } } } }
    const holds = { $concatArrays: [removed.length === 0 ? '$holds' : others, { $literal: added }] }
    const update = { $set: { ...state.account, revision: state.revision, holds } }
    const filter = { _id: id, revision: before.revision }
    const { matchedCount } = await this.#accounts.updateOne(filter, [update], { maxTimeMS: MAX_TIME_MS })
    return matchedCount > 0
  }

  async #insert(id: AccountDocument['_id'], { account, holds, revision }: AccountState): Promise<boolean> {
    try {
      await this.#accounts.insertOne({ _id: id, ...id, ...account, holds, revision })
      return true
    } catch (error) {
      if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false
      throw error
    }
  }
}

interface Decided {
  readonly state: AccountState
  readonly added: readonly HoldEntry[]
  readonly removed: readonly string[]
  readonly results: unknown[]
  /** Nothing changes. */
  readonly isSame: boolean
}

/** The account after the jobs have decided, one after the other. */
function decideAll(before: AccountState, jobs: readonly Job[]): Decided {
  let { account, holds } = before
  const added = new Set<HoldEntry>()
  const removed = new Set<string>()
  const results = jobs.map(({ decide }) => {
    const change = decide({ account, holds })
    if (!('account' in change)) return change.result
    const { added: more = [], removed: less = [] } = change
    account = change.account
    holds = [...holds.filter(({ name }) => !less.includes(name)), ...more]
    for (const hold of more) added.add(hold)
    for (const name of less) removed.add(name)
    return change.result
  })
  const isSame = account === before.account && added.size === 0 && removed.size === 0
  // A hold that came and went within a batch is not stored.
  const stay = [...added].filter(({ name }) => !removed.has(name))
  const state = { account, holds, revision: before.revision + 1 }
  return { state, added: stay, removed: [...removed], results, isSame }
}
