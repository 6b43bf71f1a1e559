import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API_KEY } from './cases.ts'
import { type BenchServer, startServer } from './harness/server.ts'

/** Portico, what it is measured against, and the provider that both ask: each a process, all on loopback. */
export interface BenchServers extends AsyncDisposable {
  readonly reference: BenchServer
  readonly portico: BenchServer
  readonly upstream: BenchServer
  /** Project directory of the sessions. */
  readonly project: string
}

/** Starts the three on empty stores in a folder that is removed in the end. */
export async function startServers(reference: 'sessions' | 'gateway', profile?: string): Promise<BenchServers> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'portico-bench-'))
  stack.defer(() => rm(directory, { recursive: true }))
  const project = join(directory, 'project')
  await mkdir(project)
  const upstream = stack.use(await startServer({ file: 'bench/reference/upstream.ts', env: {} }))
  const config = join(directory, 'portico.json')
  await writeFile(config, JSON.stringify(providers(`${upstream.url}/v1`)))
  const servers = {
    upstream,
    project,
    reference: stack.use(
      await startServer({
        file: `bench/reference/${reference}.ts`,
        env: { BENCH_DIRECTORY: directory, BENCH_UPSTREAM: upstream.url, NODE_ENV: 'production' },
        profile,
      }),
    ),
    portico: stack.use(
      await startServer({
        file: 'main.ts',
        words: [project],
        env: {
          ...{ HOME: directory, NODE_ENV: 'production', PORTICO_AUTH: 'none', PORTICO_PORT: '0' },
          ...{ PORTICO_DATA_DIR: join(directory, 'data'), PORTICO_CONFIG: config, PORTICO_BOOTSTRAP_API_KEY: API_KEY },
        },
        profile,
      }),
    ),
  }
  const owned = stack.move()
  return { ...servers, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

function providers(baseURL: string): object {
  const models = [{ id: 'gpt-bench', pricing: { input: 2, output: 8 } }]
  return { providers: [{ id: 'openai', protocol: 'openai', baseURL, apiKey: 'key-of-the-stub', models }] }
}
