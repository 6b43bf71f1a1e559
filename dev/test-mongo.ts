import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MongoBinary, MongoMemoryReplSet } from 'mongodb-memory-server-core'

/**
 * The MongoDB server of one test run; `uri` is undefined if there is none, and `description` names the server or the
 * reason.
 */
export interface TestMongo {
  readonly uri: string | undefined
  readonly description: string
  /** A `mongod` that tests may start and damage, if it is not on PATH. */
  readonly binary?: string
  stop(): Promise<void>
}

/** The server may run emulated, or beside other work: nothing may fail merely because it is slow. */
const PATIENCE = new URLSearchParams({
  waitQueueTimeoutMS: '600000',
  serverSelectionTimeoutMS: '600000',
  connectTimeoutMS: '600000',
  wtimeoutMS: '600000',
})

/**
 * It keeps old versions of documents for a minute only, since the tests delete many, and no statistics about itself;
 * a reader of a change stream without writes does not wait for ten seconds.
 */
const PARAMETERS = [
  'minSnapshotHistoryWindowInSeconds=60',
  'diagnosticDataCollectionEnabled=false',
  'periodicNoopIntervalSecs=1',
].flatMap((parameter) => ['--setParameter', parameter])

/**
 * Finds or starts a replica set: PORTICO_TEST_MONGODB_URI, a `mongod` on PATH, or one that mongodb-memory-server-core
 * can fetch. It has ten minutes to start.
 */
export async function startMongo(scratch: string): Promise<TestMongo> {
  const uri = process.env.PORTICO_TEST_MONGODB_URI
  if (uri !== undefined) return { uri, description: 'the server of PORTICO_TEST_MONGODB_URI', stop: async () => {} }
  const onPath = spawnSync(process.platform === 'win32' ? 'where' : 'which', ['mongod'], { encoding: 'utf8' })
  const systemBinary = onPath.status === 0 ? onPath.stdout.split(/\r?\n/)[0]?.trim() : undefined
  process.env.MONGOMS_SYSTEM_BINARY_VERSION_CHECK = 'false'
  const dbPath = mkdtempSync(join(scratch, 'portico-mongodb-'))
  const remove = (): void => rmSync(dbPath, { recursive: true, force: true, maxRetries: 5 })
  const interrupted = (signal: NodeJS.Signals): void => {
    remove()
    process.kill(process.pid, signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  try {
    const binary = systemBinary ?? (await MongoBinary.getPath())
    const set = await MongoMemoryReplSet.create({
      binary: { systemBinary: binary },
      replSet: { count: 1, storageEngine: 'wiredTiger', ip: '127.0.0.1' },
      instanceOpts: [{ launchTimeout: 600_000, dbPath, args: PARAMETERS }],
    })
    const description =
      systemBinary === undefined ? 'a server that mongodb-memory-server fetched' : 'the mongod on PATH'
    return {
      uri: `${set.getUri()}&${PATIENCE}`,
      description,
      binary,
      async stop() {
        await set.stop({ doCleanup: true, force: true })
        remove()
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted)
      },
    }
  } catch (error) {
    remove()
    // Why a download failed is in the second line.
    const [why] = (error instanceof Error ? error.message : String(error)).replace(/, Details:\n/, ': ').split('\n')
    const looked = systemBinary === undefined ? 'no mongod on PATH, and none could be fetched' : 'mongod did not start'
    return { uri: undefined, description: `${looked} (${why})`, stop: async () => {} }
  }
}

const GIB = 1_073_741_824

/**
 * A folder in memory, if there is one with enough room that allows execution: what the tests wait for most is a disk
 * that makes each write durable. Tests kill processes, whose writes survive in memory as well as on a disk.
 */
export function folderInMemory(folder = '/dev/shm'): string | undefined {
  if (!existsSync(folder) || process.availableMemory() < 8 * GIB) return undefined
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize < 4 * GIB || !runsPrograms(folder) ? undefined : folder
}

function runsPrograms(folder: string): boolean {
  const own = mkdtempSync(join(folder, 'portico-program-'))
  const program = join(own, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
  const { status } = spawnSync(program)
  rmSync(own, { recursive: true })
  return status === 0
}

/** The last words of a test run; that MongoDB was not tested is its last line, so that nobody overlooks it. */
export function lastWords(
  { uri, description }: Pick<TestMongo, 'uri' | 'description'>,
  passed: boolean,
  minutes: string,
  red: (text: string) => string,
): string {
  const verdict = passed ? `Everything passed after ${minutes} minutes.` : red(`FAILED after ${minutes} minutes.`)
  if (uri !== undefined) return `MongoDB: ${description}\n${verdict}\n`
  return `${verdict}\n${red(`MongoDB was NOT TESTED, its suites were skipped: ${description}.`)}\n`
}
