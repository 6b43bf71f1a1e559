// `npm run soak:faults [-- REQUESTS]`: faults of providers (10,000 requests), each with one body and one row;
// afterwards memory must be back to where it was.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { PORTICO_KEYS } from '#test/support/portico.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { type Product, startSingle } from '#test/support/product.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { startStub } from '#test/support/provider-stub.ts'
import { waitUntil } from '#test/support/wait-until.ts'
import { DIALECTS } from './dialects.ts'
import { expected, FAULTS, outcome } from './provider-faults.ts'
import { UPSTREAMS } from './upstreams.ts'

const REQUESTS = Number(process.argv[2] ?? 10_000)
const WARM_UP = Math.max(200, REQUESTS / 10)
const AT_ONCE = 100
/**
 * A missing answer is waited for longer than a slow one may take on a busy machine, and every failure keeps its status.
 */
const PATIENCE = {
  PORTICO_GENERATION_TIMEOUT_SECONDS: '15',
  PORTICO_PROVIDER_TIMEOUT_SECONDS: '5',
  PORTICO_KEEP_ALIVE_MS: '60000',
}
/** An endless answer is read until it has 32 MiB or more: only one in so many requests gets it. */
const ENDLESS_EVERY = 100
const ENDLESS = 'an endless answer'
const REFUSED = 'refused'
/** How much more memory may be held than before. */
const SHARE = 1.1
const KINDS = [REFUSED, ...Object.keys(FAULTS).filter((name) => name !== ENDLESS)]

/** Held by the main thread of the server, once its garbage is collected, in bytes. */
async function held({ processes }: Product): Promise<number> {
  const [server = assert.fail()] = processes()
  const lines = (): string[] =>
    server
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{"held"'))
  const known = lines().length
  server.child.kill('SIGUSR2')
  const line = await waitUntil('what the server holds', async () => lines()[known])
  const { heapUsed, external } = JSON.parse(line).held as { heapUsed: number; external: number }
  return heapUsed + external
}

/** The least that is held within a few idle seconds. */
async function rested(product: Product): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 5; i++) {
    await sleep(2_000)
    least = Math.min(least, await held(product))
  }
  return least
}

using data = scratchDirectory()
using project = scratchDirectory()
await using stub = await startStub((response) => {
  const { path, body } = stub.seen.pop() ?? assert.fail()
  const { model, stream } = body as { readonly model: string; readonly stream?: boolean }
  const upstream = UPSTREAMS.find((known) => known.path === path) ?? assert.fail(path)
  const { answer } = Object.values(FAULTS)[Number(model)] ?? assert.fail(model)
  answer(response, upstream, stream === true)
})
const providers = UPSTREAMS.flatMap(({ protocol }) => [
  { id: `up-${protocol}`, protocol, baseURL: `${stub.url}/v1` },
  // Nothing listens there.
  { id: `down-${protocol}`, protocol, baseURL: 'http://127.0.0.1:1/v1' },
])
const preload = fileURLToPath(new URL('../support/report-memory.ts', import.meta.url))
const product = await startSingle({
  dataDirectory: data.path,
  project: project.path,
  environment: {
    ...PATIENCE,
    PORTICO_CONFIG: providerConfig(providers),
    PORTICO_BOOTSTRAP_API_KEY: PORTICO_KEYS.api,
    PORTICO_LOG_LEVEL: 'fatal',
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${preload}`,
  },
})
const portico = { fetch: (path: string, init?: RequestInit) => fetch(`${product.url}${path}`, init) }

let asked = 0
async function ask(n: number): Promise<void> {
  const kind = n % ENDLESS_EVERY === 0 ? ENDLESS : (KINDS[n % KINDS.length] ?? REFUSED)
  const turn = Math.floor(n / KINDS.length)
  const dialect = DIALECTS[turn % DIALECTS.length] ?? assert.fail()
  const { protocol } = UPSTREAMS[Math.floor(turn / DIALECTS.length) % UPSTREAMS.length] ?? assert.fail()
  const streamed = Math.floor(turn / DIALECTS.length / UPSTREAMS.length) % 2 === 1
  const model = kind === REFUSED ? `down-${protocol}/m` : `up-${protocol}/${Object.keys(FAULTS).indexOf(kind)}`
  const right = kind === REFUSED ? 502 : expected(kind, dialect, protocol, streamed)
  asked++
  assert.deepEqual(await outcome(portico, dialect, model, streamed), right, `${kind}: ${dialect.name} × ${protocol}`)
}

async function faults(count: number): Promise<void> {
  let n = 0
  const one = async (): Promise<void> => {
    while (n < count) await ask(++n)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

let code: number | null = null
const found: Record<string, unknown> = {}
try {
  await faults(WARM_UP)
  const before = await rested(product)
  const begun = performance.now()
  await faults(REQUESTS)
  const seconds = Math.round((performance.now() - begun) / 1_000)
  const after = await rested(product)
  Object.assign(found, { requests: asked, seconds, before, after, share: after / before })
} finally {
  code = await product.stop()
}
assert.equal(code, 0, 'the server did not end well')
using ledger = new DatabaseSync(join(data.path, 'inference.sqlite'))
const rows = ledger.prepare(`SELECT count(*) AS rows, sum(status = ${Status.OPEN}) AS open FROM ledger`).get()
const kept = ledger.prepare('SELECT sum(heldRequests) AS requests, sum(heldNanos) AS nanos FROM accounts').get()
process.stdout.write(`${JSON.stringify({ ...found, ...rows, held: { ...kept } })}\n`)
assert.deepEqual([rows?.rows, rows?.open, kept?.requests, kept?.nanos], [asked, 0, 0, 0])
assert.ok(Number(found.share) <= SHARE, 'what is held did not come back')
