import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API_KEY, MANAGEMENT_KEY } from './cases.ts'
import { type BenchServer, type ServerCommand, startServer } from './harness/server.ts'

/** Portico, its reference, and the provider that both call: each a process, all on loopback. */
export interface BenchServers extends AsyncDisposable {
  readonly reference: BenchServer
  readonly portico: BenchServer
  readonly upstream: BenchServer
  /** Project directory of the sessions. */
  readonly project: string
}

/** Starts the three with empty stores in a folder that is removed at the end. */
export async function startServers(reference: 'sessions' | 'gateway', profile?: string): Promise<BenchServers> {
  await using ground = await breakGround()
  const { directory, project, upstream } = ground
  const file = `bench/reference/${reference}.ts`
  const env = { BENCH_DIRECTORY: directory, BENCH_UPSTREAM: upstream.url, NODE_ENV: 'production' }
  const servers = {
    upstream,
    project,
    reference: ground.use(await startServer({ file, env, profile })),
    portico: ground.use(await ground.startPortico('data', { profile })),
  }
  const owned = ground.move()
  return { ...servers, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Portico with an empty store, and a bare server of events. */
export async function startEventServers(): Promise<Omit<BenchServers, 'upstream'>> {
  await using ground = await breakGround()
  const servers = {
    project: ground.project,
    reference: ground.use(await startServer({ file: 'bench/reference/events.ts', env: {} })),
    portico: ground.use(await ground.startPortico('data', {})),
  }
  const owned = ground.move()
  return { ...servers, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Portico alone, with an empty store. */
export async function startPortico(): Promise<Omit<BenchServers, 'reference' | 'upstream'>> {
  await using ground = await breakGround()
  const servers = { project: ground.project, portico: ground.use(await ground.startPortico('data', {})) }
  const owned = ground.move()
  return { ...servers, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Portico of this tree and of another one, and the provider that both call. */
export interface PairedServers extends AsyncDisposable {
  readonly before: BenchServer
  readonly now: BenchServer
  readonly project: string
}

/**
 * Starts Portico from the tree `base` and from this one, each with an empty store in a folder that is removed at the
 * end.
 */
export async function startPair(base: string): Promise<PairedServers> {
  await using ground = await breakGround()
  const before = ground.use(await ground.startPortico('before', { tree: base }))
  const now = ground.use(await ground.startPortico('now', {}))
  const owned = ground.move()
  return { before, now, project: ground.project, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/**
 * A temporary folder with a project, the provider, and a function that starts Portico there. Resources that it gets are
 * disposed with it.
 */
export async function breakGround() {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'portico-bench-'))
  stack.defer(() => rm(directory, { recursive: true }))
  const project = join(directory, 'project')
  await mkdir(project)
  const upstream = stack.use(await startServer({ file: 'bench/reference/upstream.ts', env: {} }))
  const config = join(directory, 'portico.json')
  await writeFile(config, JSON.stringify(providers(`${upstream.url}/v1`)))
  const owned = stack.move()
  return {
    directory,
    project,
    upstream,
    use: <T extends AsyncDisposable>(server: T): T => owned.use(server),
    move: () => owned.move(),
    startPortico: (data: string, how: Pick<ServerCommand, 'tree' | 'profile'>): Promise<BenchServer> =>
      startServer({
        file: 'main.ts',
        words: [project],
        env: {
          HOME: directory,
          NODE_ENV: 'production',
          PORTICO_AUTH: 'none',
          PORTICO_PORT: '0',

          PORTICO_DATA_DIR: join(directory, data),
          PORTICO_CONFIG: config,

          PORTICO_BOOTSTRAP_API_KEY: API_KEY,
          PORTICO_BOOTSTRAP_MANAGEMENT_KEY: MANAGEMENT_KEY,
        },
        ...how,
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function providers(baseURL: string): object {
  const models = [{ id: 'gpt-bench', pricing: { input: 2, output: 8 } }]
  return { providers: [{ id: 'openai', protocol: 'openai', baseURL, apiKey: 'key-of-the-stub', models }] }
}
