import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dropDatabase, freshDatabaseName } from '#test/support/mongo.ts'
import { noneAlive, scratchDirectory } from '#test/support/processes.ts'
import { type Product, startReplicas, startSingle } from '#test/support/product.ts'
import { CLOCK_MS } from './asked.ts'
import { writeExtensions } from './extensions.ts'
import { Follower } from './follow.ts'
import type { Scene } from './session-client.ts'
import type { Place, Restart } from './step.ts'

/** The server that sequences meet, a reader of its events, and a watcher that checks whether it still answers. */
export interface World extends Scene, AsyncDisposable {
  readonly follower: Follower
  /** What went wrong with the server itself. */
  readonly problems: string[]
  /** Whether a run may have been taken over from an owner that could no longer write: it ended, or lost its lease. */
  readonly takenOver: boolean
  /** How long, in milliseconds, something may stay invisible after the time that it is written with. */
  readonly clockMs: number
  restart(how: Restart['how']): Promise<void>
}

const ENVIRONMENT = { PORTICO_PERMISSION_TIMEOUT: '1', PORTICO_PLUGIN_HOOK_SECONDS: '3' }
/** Every other route answers within that time, and a slow machine needs some of it. */
const PROBE_MS = 10_000
/** Stopping takes at most 4 s for what is open, and starting again a while. */
const STOP_MS = 200_000
/** A transaction on MongoDB takes no longer, however busy the machine is. */
const COMMIT_MS = 5_000
/** A server that is silent for that long will never answer. */
const FROZEN_MS = 60_000

/**
 * What is an error to those who run the server, but not its fault: a peer that restarts, a store that has too much to
 * do.
 */
const EXPLAINED = /service cannot be reached at|the store accepts writes/

/** Where and how the server runs. */
export interface WorldSetting {
  /**
   * A MongoDB server, for two session services on it, each with a gateway of its own. Without one, a single process on
   * SQLite.
   */
  readonly mongo?: string | undefined
  /** The environment of its processes, besides their settings. */
  readonly environment?: Readonly<Record<string, string>>
}

export async function openWorld({ mongo, environment = {} }: WorldSetting): Promise<World> {
  const stack = new AsyncDisposableStack()
  const folder = stack.use(scratchDirectory())
  const [project, scratch, dataDirectory] = ['project', 'scratch', 'data'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ]
  const [deep, away, missing] = [join(project, 'deep'), join(folder.path, 'away'), join(folder.path, 'missing')]
  const places: Readonly<Record<Place, string>> = { home: project, deep, away, missing }
  for (const directory of [project, scratch, deep, away]) mkdirSync(directory)
  writeFileSync(join(project, 'README.md'), '# Lighthouse\n\nKeeps ships off the rocks.\n')
  writeExtensions(project, scratch)
  const problems: string[] = []
  const trusted = { PORTICO_TRUSTED_DIRECTORIES: JSON.stringify([project]) }
  const setting = { dataDirectory, project, environment: { ...ENVIRONMENT, ...trusted, ...environment } }
  const server = mongo === undefined ? await single(setting) : await replicas(mongo, setting, stack)
  const calm = new Calm()
  stack.defer(() => inTime(problems, server.product().stop(), server.product()))
  const scene = {
    places,
    scratch,
    url: server.url,
    dead: false,
    disturbed: (since: number) => scene.dead || calm.disturbed(since) || (mongo !== undefined && isStarved()),
  }
  const follower = stack.use(new Follower(scene))
  await follower.connected
  const watch = stack.use(
    new Watch(
      scene,
      problems,
      () => server.product().pids(),
      () => {
        scene.dead = true
        return server.product().kill()
      },
    ),
  )
  let restarted = false
  const owned = stack.move()
  return {
    ...scene,
    follower,
    problems,
    clockMs: mongo === undefined ? CLOCK_MS : COMMIT_MS,
    get dead() {
      return scene.dead
    },
    get takenOver() {
      return restarted || server.output().includes('A session was lost')
    },
    restart: (how) =>
      calm.during(async () => {
        restarted = true
        await Promise.race([inTime(problems, server.restart(how), server.product()), watch.frozen])
      }),
    async [Symbol.asyncDispose]() {
      await owned.disposeAsync()
      await noneAlive(folder.path).catch((error: Error) => problems.push(error.message))
      for (const line of server.output().split('\n')) {
        if (/"level":"(error|fatal)"/.test(line) && !EXPLAINED.test(line))
          problems.push(`logged: ${line.slice(0, 1_500)}`)
      }
    },
  }
}

/** A server that does not stop, or does not start again, is killed. */
async function inTime(problems: string[], stopping: Promise<unknown>, { kill }: Pick<Product, 'kill'>): Promise<void> {
  const done = stopping.then(() => true)
  if (await Promise.race([done, sleep(STOP_MS, false, { ref: false })])) return
  problems.push(`the server did not stop and start again within ${STOP_MS} ms`)
  await kill()
  await done
}

interface Server {
  readonly url: () => string
  readonly product: () => Pick<Product, 'stop' | 'kill' | 'pids'>
  /** Everything that its processes have printed, including those that have ended. */
  readonly output: () => string
  readonly restart: (how: Restart['how']) => Promise<void>
}

async function single(setting: Parameters<typeof startSingle>[0]): Promise<Server> {
  let product = await startSingle(setting)
  let former = ''
  return {
    url: () => product.url,
    product: () => product,
    output: () => former + outputOf(product),
    async restart(how) {
      if (how === 'kill') await product.kill()
      else await product.stop()
      former += outputOf(product)
      product = await startSingle(setting)
    },
  }
}

async function replicas(
  uri: string,
  setting: Parameters<typeof startReplicas>[1],
  stack: AsyncDisposableStack,
): Promise<Server> {
  const database = freshDatabaseName()
  stack.defer(() => dropDatabase(database))
  const environment = {
    ...setting.environment,
    PORTICO_MONGODB_DATABASE: database,
    PORTICO_SESSION_LEASE_SECONDS: '5',
    PORTICO_UNREADY_SECONDS: '0',
  }
  const product = await startReplicas(uri, { ...setting, environment }, 2)
  let turn = 0
  let former = ''
  return {
    url: () => product.sides[turn++ % 2]?.gateway.url ?? '',
    product: () => product,
    output: () => former + outputOf(product),
    async restart(how) {
      const side = product.sides[turn % 2]
      if (how === 'kill') await side?.session.process().kill()
      else await side?.session.process().stop()
      former += side?.session.process().output() ?? ''
      await side?.session.restart()
    },
  }
}

function outputOf(product: Product): string {
  return product
    .processes()
    .map((process) => process.output())
    .join('')
}

/** Whether a MongoDB server on this machine may be too slow for its clients. */
function isStarved(): boolean {
  const [load = 0] = loadavg()
  return load > 3 * availableParallelism()
}

/** Knows when requests may fail because of a restart. */
class Calm {
  #restarting = 0
  #until = 0

  disturbed(since: number): boolean {
    return this.#restarting > 0 || this.#until >= since
  }

  async during(work: () => Promise<void>): Promise<void> {
    this.#restarting++
    try {
      await work()
    } finally {
      this.#restarting--
      // Broken connections are noticed a moment later.
      this.#until = Date.now() + 2_000
    }
  }
}

/** Calls another route all the time. */
class Watch implements AsyncDisposable {
  readonly #end = new AbortController()
  readonly #frozen = Promise.withResolvers<void>()
  readonly #work: Promise<void>

  constructor(scene: Scene, problems: string[], pids: () => readonly number[], kill: () => Promise<void>) {
    this.#work = this.#look(scene, problems, pids, kill)
  }

  /** Resolves when the server had to be killed because it stopped answering. */
  get frozen(): Promise<void> {
    return this.#frozen.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await this.#work
  }

  async #look(
    scene: Scene,
    problems: string[],
    pids: () => readonly number[],
    kill: () => Promise<void>,
  ): Promise<void> {
    for (let turn = 0; !this.#end.signal.aborted; turn++) {
      const since = Date.now()
      const path = turn % 2 === 0 ? '/api/info' : '/api/session?limit=2'
      const lag = new Lag(pids())
      let answered = false
      try {
        const answer = await fetch(`${scene.url()}${path}`, { signal: AbortSignal.timeout(FROZEN_MS) })
        await answer.text()
        answered = answer.ok
      } catch (error) {
        // A process that had no processor for that long has not failed.
        answered = error instanceof DOMException && error.name === 'TimeoutError'
      }
      const took = Date.now() - since - lag.end()
      if (scene.disturbed(since) || this.#end.signal.aborted) await sleep(50)
      else if (took > FROZEN_MS - 2_000) {
        problems.push(`GET ${path} was not answered for ${took} ms: the server is frozen`)
        this.#frozen.resolve()
        return kill()
      } else if (took > PROBE_MS || !answered)
        problems.push(`GET ${path}: ${answered ? 'answered' : 'failed'} after ${took} ms`)
      await sleep(150)
    }
  }
}

/** How long this process, and the threads that answer, waited for a processor: that is the machine's fault. */
class Lag {
  readonly #tasks: readonly { readonly path: string; readonly waited: number }[]

  constructor(pids: readonly number[]) {
    const paths = [process.pid, ...pids].map((pid) => `/proc/${pid}/task/${pid}/schedstat`)
    this.#tasks = paths.map((path) => ({ path, waited: waitedMs(path) }))
  }

  end(): number {
    return this.#tasks.reduce((sum, { path, waited }) => sum + Math.max(0, waitedMs(path) - waited), 0)
  }
}

/** Milliseconds that a thread has spent runnable but not running; 0 if the system does not report it. */
function waitedMs(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
