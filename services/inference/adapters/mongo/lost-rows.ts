import type { Collection } from 'mongodb'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { HoldEntry } from '../tables/accounts.ts'
import { closedRow, lostClosing } from '../tables/ledger.ts'
import type { AccountBook } from './account-book.ts'
import { settleHold } from './account-changes.ts'
import type { AccountDocument } from './account-document.ts'
import { deadAmong, type LeaseDocument } from './leases.ts'
import type { OwnHolds, UncalledRow } from './own-holds.ts'
import { type Row, spentUnderHold } from './row.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS, useBigInt64: true } as const
/** How many rows are settled at once. */
const BATCH = 500

export interface Collections {
  readonly rows: Collection<Row>
  readonly accounts: Collection<AccountDocument>
  readonly leases: Collection<LeaseDocument>
  readonly book: AccountBook
}

interface PlacedHold {
  readonly _id: AccountDocument['_id']
  readonly hold: HoldEntry
}

export interface Settler {
  readonly process: string
  /** Whether it may judge the leases of others. */
  readonly judgesLeases: boolean
  readonly own: Pick<OwnHolds, 'has'>
  readonly now: number
}

/**
 * Settles holds of dead processes, and those that this one has given up: open rows are closed with what is known about
 * them, and each account counts what the row says.
 */
export async function settleLost({ rows, accounts, leases, book }: Collections, settler: Settler): Promise<void> {
  const { process, judgesLeases, own } = settler
  // Holds are read before leases, since a process has a lease before it holds anything.
  const holders = await accounts
    .aggregate<{ readonly _id: string }>(
      [{ $match: { heldRequests: { $gt: 0 } } }, { $unwind: '$holds' }, { $group: { _id: '$holds.process' } }],
      LIMIT,
    )
    .toArray()
  const others = holders.map(({ _id }) => _id).filter((each) => each !== process)
  const dead = await deadAmong(leases, others, judgesLeases)
  const mine = holders.length > others.length ? [process] : []
  if (dead.length + mine.length === 0) return
  const holds = await accounts
    .aggregate<PlacedHold>(
      [
        { $match: { heldRequests: { $gt: 0 } } },
        { $unwind: '$holds' },
        { $match: { 'holds.process': { $in: [...dead, ...mine] } } },
        { $project: { hold: '$holds' } },
      ],
      LIMIT,
    )
    .toArray()
  const lost = holds.filter(({ hold }) => hold.process !== process || !own.has(hold.name))
  for (let i = 0; i < lost.length; i += BATCH) await settleHeld({ rows, book }, lost.slice(i, i + BATCH), settler)
}

async function settleHeld(
  { rows, book }: Pick<Collections, 'rows' | 'book'>,
  holds: readonly PlacedHold[],
  { now }: Settler,
): Promise<void> {
  const ids = holds.map(({ _id: { workspaceId }, hold: { requestId } }) => ({ workspaceId, requestId }))
  const names = new Set(holds.map(heldName))
  const endings = new Map<string, bigint>()
  for (const each of holds) {
    const { outputTokens } = each.hold
    if (outputTokens !== undefined) endings.set(heldName(each), outputTokens)
  }
  const read = () => rows.find({ _id: { $in: ids } }, LIMIT).toArray()
  // A row of another opening with the same id is not settled.
  const open = (await read()).filter((row) => row.status === Status.OPEN && names.has(nameOf(row)))
  if (open.length > 0) {
    const updates = open.map((row) => ({
      updateOne: {
        filter: { _id: row._id, status: Status.OPEN },
        update: { $set: closedRow(lostClosing(row, true, endings.get(nameOf(row))), now) },
      },
    }))
    await rows.bulkWrite(updates, { ordered: false, maxTimeMS: MAX_TIME_MS })
  }
  const closed = new Map((await read()).map((row) => [nameOf(row), row]))
  await Promise.all(
    holds.map(({ _id: { workspaceId, owner }, hold }) => {
      const row = closed.get(`${workspaceId} ${hold.name}`)
      // Without a row, the request was not admitted.
      return settleHold(book, workspaceId, owner, hold.name, row && spentUnderHold(row), now)
    }),
  )
}

/**
 * Closes those rows that were opened in spite of a failure, whether or not they still hold anything: no provider was
 * called for them.
 */
export async function closeUncalled(
  rows: Collection<Row>,
  uncalled: readonly UncalledRow[],
  now: number,
): Promise<void> {
  if (uncalled.length === 0) return
  const updates = uncalled.map(({ workspaceId, requestId, name }) => {
    const nothing = { inputEstimate: 0n, notedTokens: 0n, inputPrice: null, outputPrice: null }
    const closing = lostClosing({ workspaceId, requestId, apiKeyId: '', ...nothing }, false)
    const filter = { _id: { workspaceId, requestId }, hold: name, status: Status.OPEN }
    return { updateOne: { filter, update: { $set: closedRow(closing, now) } } }
  })
  await rows.bulkWrite(updates, { ordered: false, maxTimeMS: MAX_TIME_MS })
}

/** The name of a row's hold. */
function nameOf({ _id: { workspaceId }, hold }: Row): string {
  return `${workspaceId} ${hold}`
}

function heldName({ _id: { workspaceId }, hold }: PlacedHold): string {
  return `${workspaceId} ${hold.name}`
}
