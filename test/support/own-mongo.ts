import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { freePorts } from '#test/support/free-ports.ts'
import { waitUntil } from '#test/support/wait-until.ts'

/** Why a suite that needs a server of its own is skipped; false if there is a `mongod` to start. */
export const skipWithoutMongod: string | false = mongod() === undefined ? 'no mongod to start' : false

/** A MongoDB server that a test may damage: a replica set of one. */
export interface OwnMongo extends AsyncDisposable {
  readonly uri: string
  /** Ends it as a power cut does. */
  kill(): Promise<void>
  /** Starts it again in the same place; resolves when it accepts writes. */
  start(): Promise<void>
  /** From now on it is paused, but its connections stay open. */
  pause(): void
  resume(): void
  /** It is no primary for that many seconds, as in an election. */
  stepDown(seconds: number): Promise<void>
  /** Runs a command on the database `admin`. */
  command(command: Record<string, unknown>): Promise<unknown>
}

/** Starts one with its data in the folder. */
export async function startOwnMongo(directory: string): Promise<OwnMongo> {
  const dbPath = join(directory, 'mongodb')
  mkdirSync(dbPath, { recursive: true })
  const [port = 0] = await freePorts(1)
  const uri = `mongodb://127.0.0.1:${port}/?replicaSet=own`
  let child = launch(dbPath, port)
  // A new connection each time: one that hangs in a paused server, or was cut by a killed one, is of no later use.
  const command = async (words: Record<string, unknown>) => {
    const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true&serverSelectionTimeoutMS=500`)
    try {
      return await client.db('admin').command(words)
    } finally {
      await client.close()
    }
  }
  const takesWrites = () =>
    waitUntil('mongod takes writes', async () => {
      const hello = await command({ hello: 1 }).catch(() => undefined)
      return hello?.isWritablePrimary === true ? true : undefined
    })
  await waitUntil('mongod answers', () => command({ ping: 1 }).catch(() => undefined))
  await command({ replSetInitiate: { _id: 'own', members: [{ _id: 0, host: `127.0.0.1:${port}` }] } })
  await takesWrites()
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return {
    uri,
    kill,
    start: async () => {
      child = launch(dbPath, port)
      await takesWrites()
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stepDown: async (seconds) => {
      // The server may close the connection instead of answering.
      await command({ replSetStepDown: seconds, force: true }).catch(() => {})
    },
    command,
    [Symbol.asyncDispose]: kill,
  }
}

function mongod(): string | undefined {
  const found = spawnSync(process.platform === 'win32' ? 'where' : 'which', ['mongod'], { encoding: 'utf8' })
  const onPath = found.status === 0 ? found.stdout.split(/\r?\n/)[0]?.trim() : undefined
  return process.env.PORTICO_TEST_MONGOD || onPath
}

function launch(dbPath: string, port: number): ChildProcess {
  const words = ['--replSet', 'own', '--dbpath', dbPath, '--port', String(port), '--bind_ip', '127.0.0.1', '--quiet']
  const testCommands = ['--setParameter', 'enableTestCommands=1']
  return spawn(mongod() as string, [...words, '--wiredTigerCacheSizeGB', '0.25', ...testCommands], { stdio: 'ignore' })
}
