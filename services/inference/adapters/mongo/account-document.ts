import { Long } from 'mongodb'
import { type Account, EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import { bigintOf } from './row.ts'

/** Owner of the account of a whole workspace; no key has that id. */
export const WORKSPACE = '*'

/** What one request holds in an account while it runs. */
export interface HoldEntry {
  /** Made up for each opening: whoever takes it out counts what the request cost, so that it counts once. */
  readonly name: string
  readonly requestId: string
  readonly process: string
  readonly nanos: bigint
  readonly inputTokens: bigint
  readonly minute: number
  /** Its close is under way. */
  readonly ending?: boolean
}

/** An account as it is stored. */
export interface AccountDocument extends Account {
  readonly _id: { readonly workspace: string; readonly owner: string }
  readonly workspace: string
  readonly owner: string
  /** Raised by each change; nobody changes what another has changed since it was read. */
  readonly revision: number
  readonly holds: readonly HoldEntry[]
}

/** An account, and who holds something in it. */
export interface AccountState {
  readonly account: Account
  readonly holds: readonly HoldEntry[]
  /** 0: it is not stored yet. */
  readonly revision: number
}

const NO_ACCOUNT: AccountState = { account: EMPTY_ACCOUNT, holds: [], revision: 0 }

/** The state of a document; it has to be read without promoting Longs. */
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
