// `npm run replica-set`: initiates a replica set with the mongod that PORTICO_MONGODB_URI names, for machines without
// mongosh. One that is a replica set already does not change.
import { MongoClient, MongoServerError } from 'mongodb'
import { z } from 'zod'
import { readEnvironment } from '#shared/config/config.ts'
import { storeOf, storeSecrets, storeVariables } from '#shared/config/store-config.ts'

const ALREADY_INITIALIZED = 23
const ELECTION_MS = 30_000

try {
  const store = storeOf(readEnvironment(z.object(storeVariables), process.env, storeSecrets))
  if (store.kind !== 'mongodb') throw new Error('PORTICO_MONGODB_URI: must be set')
  await using named = new MongoClient(store.uri, { serverSelectionTimeoutMS: ELECTION_MS })
  const { hosts, replicaSet } = named.options
  if (replicaSet === undefined) throw new Error('PORTICO_MONGODB_URI: must end with ?replicaSet=NAME')
  const host = String(hosts[0])
  const outcome = await initiate(host, replicaSet)
  await named.db('admin').command({ ping: 1 })
  process.stdout.write(`${host} ${outcome} the replica set ${replicaSet}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

async function initiate(host: string, name: string): Promise<string> {
  await using client = new MongoClient(`mongodb://${host}/?directConnection=true`, { serverSelectionTimeoutMS: 3_000 })
  try {
    await client.db('admin').command({ replSetInitiate: { _id: name, members: [{ _id: 0, host }] } })
    return 'is now'
  } catch (error) {
    if (error instanceof MongoServerError && error.code === ALREADY_INITIALIZED) return 'was already'
    throw error
  }
}
