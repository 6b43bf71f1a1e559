import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { npmInstall } from '../harness/npm-install.ts'
import { type BenchServer, startServer } from '../harness/server.ts'

/** With a later `@hono/node-server`, which a plain install brings, every stream gets 500 (Portkey-AI/gateway#1389). */
const PACKAGES = { '@portkey-ai/gateway': '1.15.2', '@hono/node-server': '1.12.2' }

/**
 * Starts Portkey's gateway, which is installed into a temporary folder. The headers of each request name the upstream.
 */
export async function startPortkey(): Promise<BenchServer> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'portico-portkey-'))
  stack.defer(() => rm(folder, { recursive: true }))
  npmInstall(folder, PACKAGES)
  const server = stack.use(
    await startServer({
      file: join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
      words: ['--port=0', '--headless'],
      env: { HOME: folder, NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
      preload: new URL('./loopback.ts', import.meta.url).href,
    }),
  )
  const owned = stack.move()
  return { ...server, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** The headers with which Portkey's gateway calls the upstream. */
export function portkeyHeaders(upstream: string): Record<string, string> {
  return {
    authorization: 'Bearer key-of-the-stub',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream}/v1`,
  }
}
