import { type BenchRequest, LoadClient } from '../harness/load.ts'
import { type BenchServer, startServer } from '../harness/server.ts'
import { breakGround } from '../servers.ts'
import { limitedKey } from './limited-key.ts'
import { portkeyHeaders, startPortkey } from './portkey.ts'

export type SideName = 'upstream' | 'undici proxy' | 'Express' | 'Express, ledger' | 'Portkey' | 'Portico'

/** A server of chat completions: Portico, a reference, or the upstream itself. */
export interface Side {
  readonly name: SideName
  readonly server: BenchServer
  /** A request with this prompt. */
  request(prompt: string, stream: boolean): BenchRequest
}

/** Sides that dispose of their servers. */
export interface Sides extends AsyncDisposable {
  readonly sides: readonly Side[]
}

/** Starts all sides, each in a process of its own. */
export async function startSides(): Promise<Sides> {
  await using ground = await breakGround()
  const { url } = ground.upstream
  const env = { BENCH_UPSTREAM: url, NODE_ENV: 'production' }
  const start = async (file: string, more: Readonly<Record<string, string>> = {}): Promise<BenchServer> =>
    ground.use(await startServer({ file, env: { ...env, ...more } }))
  const sides = [
    side('upstream', ground.upstream, {}),
    side('undici proxy', await start('bench/reference/proxy.ts'), {}),
    side('Express', await start('bench/reference/gateway.ts'), {}),
    side('Express, ledger', await start('bench/reference/gateway.ts', { BENCH_LEDGER: ground.directory }), {
      authorization: 'Bearer a key of the benchmark',
    }),
    side('Portkey', ground.use(await startPortkey()), portkeyHeaders(url), '/v1/chat/completions'),
    await porticoSide(ground),
  ]
  const owned = ground.move()
  return { sides, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Starts Portico alone, on an empty store, and its upstream. */
export async function startPorticoSide(): Promise<AsyncDisposable & { readonly portico: Side }> {
  await using ground = await breakGround()
  const portico = await porticoSide(ground)
  const owned = ground.move()
  return { portico, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function porticoSide(ground: Awaited<ReturnType<typeof breakGround>>): Promise<Side> {
  const portico = ground.use(await ground.startPortico('data', {}))
  await using client = new LoadClient(portico.url, 1)
  return side('Portico', portico, { authorization: `Bearer ${await limitedKey(client)}` })
}

function side(
  name: SideName,
  server: BenchServer,
  headers: Readonly<Record<string, string>>,
  path = '/api/v1/chat/completions',
): Side {
  const model = name === 'Portico' ? 'openai/gpt-bench' : 'gpt-bench'
  return {
    name,
    server,
    request: (content, stream) => {
      const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content }] })
      return { method: 'POST', path, headers, body }
    },
  }
}
