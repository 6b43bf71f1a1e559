import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { difference } from '#services/inference/domain/ledger/account.ts'
import { type LedgerClosing, PROCESS_LOST } from '#services/inference/ports/ledger.ts'
import { randomText } from '#shared/ids.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { closedRow, spentOf } from '../tables/ledger.ts'
import { holdAgain, settleHolds } from './account-changes.ts'
import type { Collections } from './lost-rows.ts'
import type { OwnHolds } from './own-holds.ts'
import { type Row, spentUnderHold } from './row.ts'

const READ = { maxTimeMS: MAX_TIME_MS, useBigInt64: true } as const

export interface Closer {
  readonly process: string
  readonly own: OwnHolds
  readonly now: number
}

/** Closes rows, and counts what they cost. */
export async function closeRows(
  collections: Collections,
  closings: readonly LedgerClosing[],
  closer: Closer,
): Promise<void> {
  const { rows, book } = collections
  const { own, now } = closer
  const closes = closings.map((closing) => ({ closing, closed: closedRow(closing, now) }))
  const updates = closes.map(({ closing: { workspaceId, requestId }, closed }) => {
    const filter = { _id: { workspaceId, requestId }, status: Status.OPEN }
    return { updateOne: { filter, update: { $set: closed } } }
  })
  const { matchedCount } = await rows.bulkWrite(updates, { ordered: false, maxTimeMS: MAX_TIME_MS })
  const names = closings.map((closing) => own.nameOf(closing))
  if (matchedCount < closings.length || names.includes(undefined)) {
    await countStored(collections, closings, closer)
    return
  }
  await Promise.all(
    closes.map(({ closing, closed }, i) => settleHolds(book, closing, names[i] ?? '', spentOf(closed), now)),
  )
}

/** If another process may have closed or opened the row, what is stored counts. */
async function countStored(
  collections: Collections,
  closings: readonly LedgerClosing[],
  closer: Closer,
): Promise<void> {
  const ids = closings.map(({ workspaceId, requestId }) => ({ workspaceId, requestId }))
  const rows = await collections.rows.find({ _id: { $in: ids } }, READ).toArray()
  await Promise.all(
    rows.map((row) => {
      const { workspaceId, requestId } = row._id
      const closing = closings.find((each) => each.workspaceId === workspaceId && each.requestId === requestId)
      return closing !== undefined && row.error === PROCESS_LOST
        ? correct(collections, row, closing, closer)
        : settleHolds(collections.book, row, row.hold, spentUnderHold(row), closer.now)
    }),
  )
}

/**
 * Corrects a row that was mistaken for lost. For that time it has an empty hold under a new name: whichever process
 * removes it counts the difference, so it is counted once.
 */
async function correct(
  { rows, book }: Collections,
  row: Row,
  closing: LedgerClosing,
  { own, process, now }: Closer,
): Promise<void> {
  const { workspaceId, requestId } = closing
  const before = spentOf(row)
  const name = randomText(16)
  // The process that took it for lost may have come no further than that.
  await settleHolds(book, row, row.hold, before, now)
  own.begin(closing, name)
  try {
    await holdAgain(book, row, { name, requestId, process })
    const filter = { _id: { workspaceId, requestId }, hold: row.hold, error: PROCESS_LOST }
    const closed = closedRow(closing, now)
    const update = { $set: { ...closed, hold: name, counted: before } }
    const { matchedCount } = await rows.updateOne(filter, update, { maxTimeMS: MAX_TIME_MS })
    const spent = matchedCount === 0 ? undefined : difference(before, spentOf(closed))
    await settleHolds(book, row, name, spent, now)
  } finally {
    own.forget(closing, name)
  }
}
