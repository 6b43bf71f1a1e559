import { Long } from 'mongodb'
import { type Account, EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import { bigintOf } from './row.ts'

/** Owner of the account of a whole workspace; no key has that id. */
export const WORKSPACE = '*'

/** What one request holds in an account while it runs. */
export interface HoldEntry {
  /** Generated for each opening: whoever removes the hold counts the cost of the request, so it is counted once. */
  readonly name: string
  readonly requestId: string
  readonly process: string
  readonly nanos: bigint
  readonly inputTokens: bigint
  readonly minute: number
  /** The request is being closed. */
  readonly ending?: boolean
  /** Its output then, for whoever has to settle it. */
  readonly outputTokens?: bigint
}

/** An account as it is stored. */
export interface AccountDocument extends Account {
  readonly _id: { readonly workspace: string; readonly owner: string }
  readonly workspace: string
  readonly owner: string
  /** Incremented by each change, so that nobody overwrites a change made since they read it. */
  readonly revision: number
  readonly holds: readonly HoldEntry[]
}

/** An account, and its holds. */
export interface AccountState {
  readonly account: Account
  readonly holds: readonly HoldEntry[]
  /** 0: it is not stored yet. */
  readonly revision: number
}

const NO_ACCOUNT: AccountState = { account: EMPTY_ACCOUNT, holds: [], revision: 0 }

/** The state in a document, which must be read without promoting Longs. */
export function stateOf(document: AccountDocument | null): AccountState {
  if (document === null) return NO_ACCOUNT
  const { day, minute, minuteRequests, heldRequests, revision } = document
  return {
    account: {
      totalNanos: bigintOf(document.totalNanos),
      day,
      dayNanos: bigintOf(document.dayNanos),
      weekNanos: bigintOf(document.weekNanos),
      monthNanos: bigintOf(document.monthNanos),
      minute,
      minuteRequests,
      minuteTokens: bigintOf(document.minuteTokens),
      heldNanos: bigintOf(document.heldNanos),
      heldRequests,
    },
    holds: document.holds.map(holdOf),
    revision,
  }
}

function holdOf(hold: HoldEntry): HoldEntry {
  return { ...hold, nanos: bigintOf(hold.nanos), inputTokens: bigintOf(hold.inputTokens) }
}

/** An account for the store: small amounts are stored as wide as large ones. */
export function stored(account: Account) {
  return Object.fromEntries(
    Object.entries(account).map(([name, value]) => [name, typeof value === 'bigint' ? Long.fromBigInt(value) : value]),
  )
}
