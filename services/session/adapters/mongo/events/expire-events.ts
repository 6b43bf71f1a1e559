import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { Collections } from '../collections.ts'

/** How many events expire at once. */
const EXPIRED = 1_000

/** See EventLog.expireEvents. */
export async function expireEvents({ events }: Collections, before: number): Promise<number> {
  const options = { sort: { timeCreated: 1 }, projection: { _id: 1 }, limit: EXPIRED, maxTimeMS: MAX_TIME_MS } as const
  const ids = (await events.find({ timeCreated: { $lt: before } }, options).toArray()).map(({ _id }) => _id)
  if (ids.length === 0) return 0
  return (await events.deleteMany({ _id: { $in: ids } }, { maxTimeMS: MAX_TIME_MS })).deletedCount
}
