import { setTimeout as delay } from 'node:timers/promises'
import type { ClientSession, Collection, MongoClient } from 'mongodb'
import type { LedgerClosing } from '#services/inference/ports/ledger.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { AccountDocument } from './account-document.ts'

const AGAIN_MS = 20
/** Less than the time limit of a store's calls. */
const LONGEST_MS = 3_000

/** A row that is being closed, and the name of its hold. */
interface AnnouncedClose extends Pick<LedgerClosing, 'workspaceId' | 'apiKeyId' | 'usage'> {
  readonly name: string
}

/**
 * Marks the holds of rows that are being closed with their output, by which they are settled if this process ends
 * before it has closed them. Closing removes the mark together with the hold.
 */
export async function announceCloses(
  accounts: Collection<AccountDocument>,
  closes: readonly AnnouncedClose[],
): Promise<void> {
  const updates = closes.map(({ workspaceId, apiKeyId, usage, name }) => ({
    updateOne: {
      filter: { _id: { workspaceId, owner: apiKeyId } },
      update: { $set: { 'holds.$[each].ending': true, 'holds.$[each].outputTokens': usage?.outputTokens ?? 0n } },
      arrayFilters: [{ 'each.name': name }],
    },
  }))
  // It is enough that the primary knows: readers read from it, and a close that is lost with it never happened.
  await accounts.bulkWrite(updates, { ordered: false, writeConcern: { w: 1 }, maxTimeMS: MAX_TIME_MS })
}

/**
 * Waits for the holds that are marked in a workspace now, for at most three seconds, but not for those that are marked
 * later. Whoever reads afterwards with majority concern sees the results of those closes.
 */
export async function awaitCloses(
  client: MongoClient,
  accounts: Collection<AccountDocument>,
  workspaceId: string,
): Promise<void> {
  await client.withSession(async (session) => {
    await awaitMarked(accounts, workspaceId, session)
    // The primary may know of a close before the majority does; this read waits until the majority knows as well.
    await accounts.findOne({ _id: { workspaceId, owner: '' } }, { session, maxTimeMS: MAX_TIME_MS })
  })
}

async function awaitMarked(
  accounts: Collection<AccountDocument>,
  workspaceId: string,
  session: ClientSession,
): Promise<void> {
  const options = { session, readConcern: { level: 'local' }, maxTimeMS: MAX_TIME_MS } as const
  const holds = await accounts
    .aggregate<{ readonly name: string }>(
      [
        { $match: { workspaceId, 'holds.ending': true } },
        { $unwind: '$holds' },
        { $match: { 'holds.ending': true } },
        { $project: { _id: 0, name: '$holds.name' } },
      ],
      options,
    )
    .toArray()
  const name = { $in: holds.map((each) => each.name) }
  const projection = { _id: 1 } as const
  for (let left = LONGEST_MS; holds.length > 0 && left > 0; left -= AGAIN_MS) {
    if (
      (await accounts.findOne(
        { workspaceId, holds: { $elemMatch: { ending: true, name } } },
        { ...options, projection },
      )) === null
    )
      return
    await delay(AGAIN_MS)
  }
}
