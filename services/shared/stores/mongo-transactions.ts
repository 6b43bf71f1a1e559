import { setTimeout as delay } from 'node:timers/promises'
import { type ClientSession, MongoBulkWriteError, type MongoClient, MongoError, MongoServerError } from 'mongodb'
import { systemClock } from '#shared/clock.ts'

/** Maximum of the random pause after the first attempt; each later pause may be longer. */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 500
const MAX_TIME_EXPIRED = 50
const WRITE_CONFLICT = 112
/** The server's codes for a lock that was not released in time: LockTimeout, MaxTimeMSExpired, WriteConflict. */
export const LOCKED_CODES: readonly number[] = [24, MAX_TIME_EXPIRED, WRITE_CONFLICT]

/** It is unknown whether a transaction was committed: the time limit passed before the server answered. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
}

/** A transaction was not committed, because its time limit passed; its caller has been refused already. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
}

/**
 * No attempt begins in these last milliseconds, so that the caller learns what is wrong, and not only that the time is
 * over.
 */
const LAST_ATTEMPT_MS = 200
const STUCK_MS = 1_000

/**
 * Runs work in a transaction, and repeats it while the server reports that this may succeed (write conflicts, a change
 * of primary), until the time limit; the driver's own loop would continue for two minutes. `onStuck` is called after
 * each attempt that fails more than a second after the first began. Throws the last error, OutOfTime or CommitUnknown.
 */
export function transact<T>(
  client: MongoClient,
  work: (session: ClientSession) => Promise<T>,
  limits: { readonly limitMs: number; readonly operationMs: number },
  onStuck: () => void = () => {},
): Promise<T> {
  const since = systemClock.monotonic()
  const until = since + limits.limitMs
  const lastAttempt = until - Math.min(LAST_ATTEMPT_MS, limits.limitMs / 10)
  return client.withSession(async (session) => {
    for (let attempt = 1; ; attempt++) {
      session.startTransaction({ readConcern: 'snapshot', maxCommitTimeMS: limits.operationMs })
      try {
        const answer = await work(session)
        if (systemClock.monotonic() >= until) throw new OutOfTime(`no answer within ${Math.round(limits.limitMs)} ms`)
        await commit(session, until)
        return answer
      } catch (error) {
        if (session.inTransaction()) await session.abortTransaction()
        const wait = pauseAfter(attempt)
        if (!isTransient(error) || systemClock.monotonic() + wait >= lastAttempt) throw error
        if (systemClock.monotonic() - since > STUCK_MS) onStuck()
        await delay(wait)
      }
    }
  })
}

/** Repeats the commit while its result is lost; committing a transaction twice has no further effect. */
async function commit(session: ClientSession, until: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      if (!hasLabel(error, 'UnknownTransactionCommitResult')) throw error
      const wait = pauseAfter(attempt)
      if (systemClock.monotonic() + wait >= until) throw new CommitUnknown(String(error), { cause: error })
      await delay(wait)
    }
  }
}

function pauseAfter(attempt: number): number {
  return Math.random() * Math.min(FIRST_PAUSE_MS * 1.5 ** (attempt - 1), LONGEST_PAUSE_MS)
}

/** A conflict that the server reports for one of several writes has no label. */
function isTransient(error: unknown): boolean {
  if (hasLabel(error, 'TransientTransactionError')) return true
  return error instanceof MongoBulkWriteError && error.code === WRITE_CONFLICT
}

function hasLabel(error: unknown, label: string): boolean {
  return error instanceof MongoError && error.hasErrorLabel(label)
}

/** Whether a write met a lock that was not released in time, or took so long that it may have. */
export function isLocked(error: unknown): boolean {
  return error instanceof MongoError && LOCKED_CODES.includes(Number(error.code))
}

/** Whether a transaction was aborted because others wrote to the same documents. */
export function isConflict(error: unknown): boolean {
  return error instanceof MongoError && error.code === WRITE_CONFLICT
}

/** Whether an operation exceeded its time limit. */
export function isSlow(error: unknown): boolean {
  return error instanceof MongoError && error.code === MAX_TIME_EXPIRED
}

/**
 * Our transactions are idle only for milliseconds between operations; one that is idle for this long has lost its
 * process.
 */
const DEAD_AFTER_MICROS = 5_000_000
const EVERY_MS = 1_000
/** How often a server is tried again that is too busy to answer in time. */
const MOST_LOOKS = 10
const UNAUTHORIZED = 13

/**
 * Returns a function that ends transactions, of processes with the given name, whose owner is gone: otherwise the
 * server would keep their locks for a minute. A process that was only paused repeats its transaction. Resolves to
 * whether there were any. It checks at most once a second. If the server's user lacks the right, nothing happens.
 */
export function deadTransactionEnder(
  client: MongoClient,
  { appName, operationMs }: { readonly appName: string; readonly operationMs: number },
): () => Promise<boolean> {
  const admin = client.db('admin')
  const limit = { maxTimeMS: operationMs }
  const dead = { type: 'idleSession', appName, 'transaction.timeInactiveMicros': { $gt: DEAD_AFTER_MICROS } }
  const stages = [{ $currentOp: { idleSessions: true } }, { $match: dead }, { $project: { 'lsid.id': 1 } }]
  const look = async (): Promise<boolean> => {
    const operations = await admin.aggregate(stages, { readConcern: { level: 'local' }, ...limit }).toArray()
    const sessions = operations.map(({ lsid }) => ({ id: lsid.id }))
    if (sessions.length > 0) await admin.command({ killSessions: sessions, ...limit })
    return sessions.length > 0
  }
  const end = async (): Promise<boolean> => {
    for (let looks = 1; ; looks++) {
      try {
        return await look()
      } catch (error) {
        // The server ends them later.
        if (looks === MOST_LOOKS || (error instanceof MongoServerError && error.code === UNAUTHORIZED)) return false
      }
      await delay(EVERY_MS, undefined, { ref: false })
    }
  }
  let last = Number.NEGATIVE_INFINITY
  let ending: Promise<boolean> | undefined
  return async () => {
    if (ending !== undefined) return ending
    const now = systemClock.monotonic()
    if (now - last < EVERY_MS) return false
    last = now
    ending = end().finally(() => {
      ending = undefined
    })
    return ending
  }
}
