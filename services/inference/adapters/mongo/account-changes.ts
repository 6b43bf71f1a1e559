import { create } from '@bufbuild/protobuf'
import { type KeyTerms, KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import {
  EMPTY_ACCOUNT,
  holding,
  NO_MINUTE,
  releasing,
  type Spent,
  settling,
} from '#services/inference/domain/ledger/account.ts'
import { type Admission, admit, type MaxCost } from '#services/inference/domain/ledger/admission.ts'
import { type HoldEntry, WORKSPACE } from '../tables/accounts.ts'
import type { AccountBook } from './account-book.ts'

/** A request that wants to hold an amount. */
export interface Reservation {
  readonly workspaceId: string
  readonly apiKeyId: string
  readonly maxCost: MaxCost
  readonly terms: KeyTerms | undefined
  readonly now: number
  readonly entry: Pick<HoldEntry, 'name' | 'requestId' | 'process'>
}

/**
 * Lets a request hold its maximum cost in the account of its key and in that of its workspace. Each hold is separate;
 * if the second account refuses, the first hold is released.
 */
export async function reserve(book: AccountBook, reservation: Reservation): Promise<Admission> {
  const { workspaceId, apiKeyId, terms, entry, now } = reservation
  const own = terms && { ...terms, workspaceLimitNanos: undefined }
  const inKey = () => hold(book, apiKeyId, reservation, own)
  if (terms?.workspaceLimitNanos === undefined) {
    const [key] = await Promise.all([inKey(), hold(book, WORKSPACE, reservation, undefined)])
    if (!key.admitted) await settleHold(book, workspaceId, WORKSPACE, entry.name, undefined, now)
    return key
  }
  const key = await inKey()
  if (!key.admitted) return key
  const maxCost = { ...reservation.maxCost, outputTokens: key.outputTokens ?? reservation.maxCost.outputTokens }
  const limit = create(KeyTermsSchema, { workspaceLimitNanos: terms.workspaceLimitNanos })
  const whole = await hold(book, WORKSPACE, { ...reservation, maxCost }, limit)
  if (!whole.admitted) {
    await settleHold(book, workspaceId, apiKeyId, entry.name, undefined, now)
    return whole
  }
  return { ...whole, outputTokens: whole.outputTokens ?? key.outputTokens }
}

/** The account of a workspace has only its own limit, and that of a key does not know its workspace's. */
function hold(book: AccountBook, owner: string, of: Reservation, terms: KeyTerms | undefined): Promise<Admission> {
  const { workspaceId, maxCost, now, entry } = of
  return book.change<Admission>(workspaceId, owner, ({ account }) => {
    const accounts = {
      key: EMPTY_ACCOUNT,
      workspace: EMPTY_ACCOUNT,
      [owner === WORKSPACE ? 'workspace' : 'key']: account,
    }
    const admission = admit(accounts, maxCost, terms, now)
    if (!admission.admitted) return { result: admission }
    const added = [{ ...entry, ...admission.hold }]
    return { account: holding(account, admission.hold, now), added, result: admission }
  })
}

/**
 * Releases the hold with a name, and counts what was spent; undefined: the request was not admitted. Returns false if
 * there is no such hold.
 */
export function settleHold(
  book: AccountBook,
  workspaceId: string,
  owner: string,
  name: string,
  spent: Spent | undefined,
  now: number,
): Promise<boolean> {
  return book.change(workspaceId, owner, ({ account, holds }) => {
    const hold = holds.find((each) => each.name === name)
    if (hold === undefined) return { result: false }
    const after = spent === undefined ? releasing(account, hold, now) : settling(account, hold, spent, now)
    return { account: after, removed: [name], result: true }
  })
}

/**
 * Does so in both accounts of a row. That of the key comes last, so that whoever waits for it finds the other one
 * settled, too.
 */
export async function settleHolds(
  book: AccountBook,
  { workspaceId, apiKeyId }: Owners,
  name: string,
  spent: Spent | undefined,
  now: number,
): Promise<void> {
  for (const owner of [WORKSPACE, apiKeyId]) await settleHold(book, workspaceId, owner, name, spent, now)
}

/** Gives a request that was settled an empty hold under another name, so that the difference is counted once. */
export async function holdAgain(
  book: AccountBook,
  { workspaceId, apiKeyId }: Owners,
  entry: Reservation['entry'],
): Promise<void> {
  const added = [{ ...entry, nanos: 0n, inputTokens: 0n, minute: NO_MINUTE }]
  for (const owner of [WORKSPACE, apiKeyId]) {
    await book.change(workspaceId, owner, ({ account }) => {
      return { account: { ...account, heldRequests: account.heldRequests + 1 }, added, result: undefined }
    })
  }
}

/** The owners of the accounts in which a row counts. */
export interface Owners {
  readonly workspaceId: string
  readonly apiKeyId: string
}
