import type { Collection } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { lostClosing } from '../common/lost-closing.ts'
import type { AccountBook } from './account-book.ts'
import { settleHold } from './account-changes.ts'
import type { AccountDocument, HoldEntry } from './account-document.ts'
import { deadAmong, type LeaseDocument } from './leases.ts'
import { bigintOf, pricesOf, type Row, spentOf, toClosed } from './row.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS, promoteLongs: false } as const
/** Rows are settled in so many at once. */
const BATCH = 500

/** Where the ledger is. */
export interface Collections {
  readonly rows: Collection<Row>
  readonly accounts: Collection<AccountDocument>
  readonly leases: Collection<LeaseDocument>
  readonly book: AccountBook
}

/** What somebody holds, and where. */
interface Held {
  readonly _id: AccountDocument['_id']
  readonly hold: HoldEntry
}

/**
 * Settles what dead processes held: rows that are open are closed with what is known of them, and each account counts what the row says.
 * `isForgotten` says which holds of this very process nobody knows of any more.
 */
export async function settleLost(
  { rows, accounts, leases, book }: Collections,
  process: string,
  isForgotten: (name: string) => boolean,
  now: number,
): Promise<void> {
  // Holds are read before leases: a process has a lease before it holds anything.
  const holders = await accounts
    .aggregate<{ readonly _id: string }>(
      [{ $match: { heldRequests: { $gt: 0 } } }, { $unwind: '$holds' }, { $group: { _id: '$holds.process' } }],
      LIMIT,
    )
    .toArray()
  const others = holders.map(({ _id }) => _id).filter((each) => each !== process)
  const dead = await deadAmong(leases, others)
  const own = holders.length > others.length ? [process] : []
  if (dead.length + own.length === 0) return
  const held = await accounts
    .aggregate<Held>(
      [
        { $match: { heldRequests: { $gt: 0 } } },
        { $unwind: '$holds' },
        { $match: { 'holds.process': { $in: [...dead, ...own] } } },
        { $project: { hold: '$holds' } },
      ],
      LIMIT,
    )
    .toArray()
  const lost = held.filter(({ hold }) => hold.process !== process || isForgotten(hold.name))
  for (let i = 0; i < lost.length; i += BATCH) await settleHeld({ rows, book }, lost.slice(i, i + BATCH), now)
}

async function settleHeld(
  { rows, book }: Pick<Collections, 'rows' | 'book'>,
  held: readonly Held[],
  now: number,
): Promise<void> {
  const ids = held.map(({ _id: { workspace }, hold: { requestId } }) => ({ workspace, requestId }))
  const names = new Set(held.map(({ _id, hold }) => `${_id.workspace} ${hold.name}`))
  const read = () => rows.find({ _id: { $in: ids } }, LIMIT).toArray()
  // A row of another opening under the same id is none of what is settled.
  const open = (await read()).filter((row) => row.status === 'open' && names.has(nameOf(row)))
  if (open.length > 0) {
    const updates = open.map((row) => ({
      updateOne: { filter: { _id: row._id, status: 'open' as const }, update: { $set: toClosed(lostOf(row), now) } },
    }))
    await rows.bulkWrite(updates, { ordered: false, maxTimeMS: MAX_TIME_MS })
  }
  const closed = new Map((await read()).map((row) => [nameOf(row), row]))
  await Promise.all(
    held.map(({ _id: { workspace, owner }, hold }) => {
      const row = closed.get(`${workspace} ${hold.name}`)
      // Without a row the request was not let in.
      return settleHold(book, workspace, owner, hold.name, row && spentOf(row), now)
    }),
  )
}

/** Names what a row holds; rows of the time before accounts hold nothing, under their own id. */
function nameOf({ _id: { workspace, requestId }, hold = requestId }: Row): string {
  return `${workspace} ${hold}`
}

function lostOf(row: Row) {
  const { _id, apiKeyId, inputEstimate, notedTokens, prices } = row
  return lostClosing({
    ..._id,
    apiKeyId,
    inputEstimate: bigintOf(inputEstimate),
    notedTokens: bigintOf(notedTokens),
    prices: pricesOf(prices),
  })
}
