import { setTimeout as delay } from 'node:timers/promises'
import type { ClientSession, Collection, MongoClient } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { AccountDocument } from './account-document.ts'

const AGAIN_MS = 20
/** Less than a call of the store may take. */
const LONGEST_MS = 3_000

/** A row that is being closed, and the name of what it holds. */
interface AnnouncedClose {
  readonly workspace: string
  readonly apiKeyId: string
  readonly name: string
}

/** Marks what is held by rows that are being closed. A close takes the mark away with what is held. */
export async function announceCloses(
  accounts: Collection<AccountDocument>,
  closes: readonly AnnouncedClose[],
): Promise<void> {
  const updates = closes.map(({ workspace, apiKeyId, name }) => ({
    updateOne: {
      filter: { _id: { workspace, owner: apiKeyId } },
      update: { $set: { 'holds.$[each].ending': true } },
      arrayFilters: [{ 'each.name': name }],
    },
  }))
  // That the primary knows is enough: readers ask it, and a close that is lost with it is none.
  await accounts.bulkWrite(updates, { ordered: false, writeConcern: { w: 1 }, maxTimeMS: MAX_TIME_MS })
}

/**
 * Waits for what is marked in a workspace now, for at most three seconds; what is marked later is not waited for. Whoever reads afterwards what a
 * majority has sees what those closes wrote.
 */
export async function awaitCloses(
  client: MongoClient,
  accounts: Collection<AccountDocument>,
  workspace: string,
): Promise<void> {
  await client.withSession(async (session) => {
    await awaitMarked(accounts, workspace, session)
    // The primary may know of a close before the majority does: this read waits until that knows as much.
    await accounts.findOne({ _id: { workspace, owner: '' } }, { session, maxTimeMS: MAX_TIME_MS })
  })
}

async function awaitMarked(
  accounts: Collection<AccountDocument>,
  workspace: string,
  session: ClientSession,
): Promise<void> {
  const options = { session, readConcern: { level: 'local' }, maxTimeMS: MAX_TIME_MS } as const
  const marked = await accounts
    .aggregate<{ readonly name: string }>(
      [
        { $match: { workspace, 'holds.ending': true } },
        { $unwind: '$holds' },
        { $match: { 'holds.ending': true } },
        { $project: { _id: 0, name: '$holds.name' } },
      ],
      options,
    )
    .toArray()
  const name = { $in: marked.map((each) => each.name) }
  const projection = { _id: 1 } as const
  for (let left = LONGEST_MS; marked.length > 0 && left > 0; left -= AGAIN_MS) {
    if (
      (await accounts.findOne(
        { workspace, holds: { $elemMatch: { ending: true, name } } },
        { ...options, projection },
      )) === null
    )
      return
    await delay(AGAIN_MS)
  }
}
