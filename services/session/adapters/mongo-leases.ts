import type { AcquiredLease } from '../ports.ts'
import { type Collections, MAX_TIME_MS, SERVER_NOW } from './mongo-collections.ts'

/** Gives the lease that could be had for the longest time, by the server's clock. */
export async function claimLease(
  { sessions }: Collections,
  owner: string,
  durationMs: number,
): Promise<AcquiredLease | undefined> {
  const until = { $add: [SERVER_NOW, durationMs] }
  const record = await sessions.findOneAndUpdate(
    { claimableAt: { $gt: 0 }, $expr: { $lte: ['$claimableAt', SERVER_NOW] } },
    [
      {
        $set: {
          fence: { $add: ['$fence', 1] },
          version: { $add: ['$version', 1] },
          leaseOwner: { $literal: owner },
          leaseUntil: until,
          claimableAt: until,
        },
      },
    ],
    {
      sort: { claimableAt: 1 },
      returnDocument: 'after',
      projection: { workspace: 1, id: 1, fence: 1, running: 1 },
      maxTimeMS: MAX_TIME_MS,
    },
  )
  if (record === null) return undefined
  const { workspace, id, fence, running } = record
  return { workspace, sessionId: id, fence, unfinished: running === 1 }
}

/** Sessions of a workspace with a live lease. */
export async function listActive({ sessions }: Collections, workspace: string): Promise<string[]> {
  const live = { $gt: ['$leaseUntil', SERVER_NOW] }
  const cursor = sessions.find(
    { workspace, leaseUntil: { $gt: 0 }, $expr: live },
    { projection: { id: 1 }, maxTimeMS: MAX_TIME_MS },
  )
  return (await cursor.toArray()).map(({ id }) => id)
}
