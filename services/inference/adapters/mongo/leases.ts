import type { Collection } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'

/** A process that writes the ledger, and until when it counts as alive, by the server's clock. */
export interface LeaseDocument {
  readonly _id: string
  readonly expiresAt: Date
}

/** A process that did not say for so long that it lives is taken for dead. */
const LEASE_MS = 9_000
/** What is written down of a dead process is not needed for longer. */
const FORGET_MS = 3_600_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Says that a process lives. */
export async function renewLease(leases: Collection<LeaseDocument>, process: string): Promise<void> {
  const expiresAt = { $add: ['$$NOW', LEASE_MS] }
  await leases.updateOne({ _id: process }, [{ $set: { expiresAt } }], { upsert: true, ...LIMIT })
}

/** Which of the processes are dead. */
export async function deadAmong(leases: Collection<LeaseDocument>, processes: readonly string[]): Promise<string[]> {
  if (processes.length === 0) return []
  const lives = { _id: { $in: processes }, $expr: { $gt: ['$expiresAt', '$$NOW'] } }
  const alive = new Set((await leases.find(lives, LIMIT).toArray()).map(({ _id }) => _id))
  return processes.filter((process) => !alive.has(process))
}

/** Ends the lease of a process that leaves, and forgets those of processes that are long dead. */
export async function endLease(leases: Collection<LeaseDocument>, process: string): Promise<void> {
  const forgotten = { $expr: { $lt: ['$expiresAt', { $subtract: ['$$NOW', FORGET_MS] }] } }
  await leases.deleteMany({ $or: [{ _id: process }, forgotten] }, LIMIT)
}
