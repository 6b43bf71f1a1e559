import { type ClientSession, type Db, MongoClient, MongoServerSelectionError } from 'mongodb'
import { ConfigError } from '#shared/config/config-error.ts'
import { maskCredentials } from '#shared/config/config-print.ts'
import { mongoProblem } from './mongo-problem.ts'
import { deadTransactionEnder, isLocked, transact } from './mongo-transactions.ts'
import type { StoreProblem } from './store-health.ts'

/** An open connection to one database. */
export interface Mongo extends AsyncDisposable {
  readonly client: MongoClient
  readonly db: Db
  /** Time limit of a store's calls in milliseconds: 4 s, or as long as the URI lets the driver look for a server. */
  readonly limitMs: number
  /** What an error of the driver means for the server; undefined: it is not to blame. */
  readonly problemOf: (error: unknown) => StoreProblem | undefined
  /**
   * Runs work in a transaction; it may run several times. Throws CommitUnknown if the time limit passed before the
   * server answered whether it was committed. `limitMs` applies to all attempts together; default: the limit of any
   * call.
   */
  transact<T>(work: (session: ClientSession) => Promise<T>, limitMs?: number): Promise<T>
  /**
   * Ends transactions of ours whose process is gone, so that what they lock can be written. Resolves to whether there
   * were any. Never throws.
   */
  endDeadTransactions(): Promise<boolean>
  /** Writes a small document of its own, to check that the majority accepts writes. `name`: one document for each. */
  probe(name: string): Promise<void>
}

/** The server aborts an operation after this many milliseconds, when nobody waits for its result any more. */
export const MAX_TIME_MS = 4_000

/** How long a client waits, in milliseconds; options in the URI take precedence. */
const PATIENCE = { waitQueueTimeoutMS: 2_000, serverSelectionTimeoutMS: 3_000, connectTimeoutMS: 3_000 }
/** A write that the majority does not accept is reported while its caller still waits. */
const MAJORITY_MS = 3_500

/**
 * Connects to a MongoDB replica set (6.0 or later) and checks that it answers and supports transactions. Unless the URI
 * sets otherwise, reads and writes have majority concern, and calls fail after 3 s if no server is available. Used by
 * adapters and open.ts only (ADR 0002).
 */
export async function openMongo(options: { readonly uri: string; readonly database: string }): Promise<Mongo> {
  const appName = `portico/${options.database}`
  const settings = new URLSearchParams(options.uri.split('?')[1])
  const client = new MongoClient(options.uri, {
    ...Object.fromEntries(Object.entries(PATIENCE).filter(([name]) => !settings.has(name))),
    appName,
    writeConcern: { w: 'majority', wtimeoutMS: Number(settings.get('wtimeoutMS') ?? MAJORITY_MS) },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    retryWrites: true,
    retryReads: true,
    maxPoolSize: 50,
    maxIdleTimeMS: 300_000,
    ignoreUndefined: true,
  })
  try {
    await client.connect()
    const hello = await client.db('admin').command({ hello: 1 })
    if (hello.setName === undefined && hello.msg !== 'isdbgrid') {
      throw new Error('The server is not a replica set, so it has no transactions: start mongod with --replSet NAME')
    }
  } catch (error) {
    await client.close()
    const problem = `cannot be used: ${whyNot(error, client)}`
    throw new ConfigError([{ variable: 'PORTICO_MONGODB_URI', problem }], { cause: error })
  }
  const db = client.db(options.database)
  const probes = db.collection<{ readonly _id: string }>('store_probes')
  const callMs = Math.max(MAX_TIME_MS, Number(settings.get('serverSelectionTimeoutMS') ?? 0))
  const endDeadTransactions = deadTransactionEnder(client, { appName, operationMs: MAX_TIME_MS })
  return {
    client,
    db,
    problemOf: mongoProblem,
    limitMs: callMs,
    async transact(work, limitMs = callMs) {
      try {
        return await transact(client, work, { limitMs, operationMs: MAX_TIME_MS }, () => void endDeadTransactions())
      } catch (error) {
        if (isLocked(error)) void endDeadTransactions()
        throw error
      }
    },
    endDeadTransactions,
    async probe(name) {
      await probes.updateOne({ _id: name }, { $inc: { count: 1 } }, { upsert: true, maxTimeMS: MAX_TIME_MS })
    },
    async [Symbol.asyncDispose]() {
      await client.close()
    },
  }
}

// The driver only reports a timeout if servers answer but none is the primary of the set that it looks for.
function whyNot(error: unknown, { options }: MongoClient): string {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof MongoServerSelectionError) || !/^Server selection timed out/.test(error.message)) {
    return maskCredentials(error.message)
  }
  const { hosts, replicaSet } = options
  return (
    `no primary of the replica set${replicaSet === undefined ? '' : ` ${replicaSet}`} at ${hosts.join(', ')}. Either it has not been initiated ` +
    '(npm run replica-set, or rs.initiate() in mongosh), or replicaSet in PORTICO_MONGODB_URI is not its name'
  )
}
