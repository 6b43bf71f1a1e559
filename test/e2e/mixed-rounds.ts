import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { scratchDirectory } from '#test/support/processes.ts'
import { type Product, startSingle } from '#test/support/product.ts'
import { mixedLoad, type Tally } from './mixed-load.ts'

/** What a server holds at one moment. */
interface Held {
  readonly rssMb: number
  readonly heapMb: number
  readonly externalMb: number
  /** Open files and sockets. */
  readonly files: number
  readonly threads: number
  /** Processes below it. */
  readonly children: number
  /** Entries of its folder for temporary files. */
  readonly temporary: number
}

export interface MixedReport {
  readonly done: Tally
  readonly before: Held
  /** At the busiest moment observed. */
  readonly most: Held
  readonly after: Held
}

/**
 * How much more may be held after the load than before it, both idle and warm. Sockets of clients close within some
 * seconds, threads for searches are kept for reuse, and the allocator returns pages late.
 */
const MORE: Held = { rssMb: 120, heapMb: 15, externalMb: 15, files: 6, threads: 4, children: 0, temporary: 0 }
/**
 * A process grows to its working size in this time. A shorter load measures only its heap and buffers, not its resident
 * set.
 */
const FULL_SIZE_SECONDS = 300
/** Time for idle connections to be closed, threads to end, and memory to be given back. */
const REST_MS = 450_000
/** The rest before a load, and the part of a rest between two measurements. */
const REST = { beforeMs: 20_000, lookMs: 12_000 }
/**
 * Where the resident set is not measured: connections close and threads end sooner, and a measurement collects garbage.
 */
const SHORT_REST = { beforeMs: 0, lookMs: 6_000 }

/**
 * Puts a mixed load on a single process for that many seconds, after a short one that warms it up, and checks that
 * everything is given back: memory, files, threads, processes and temporary files.
 */
export async function mixedRounds(seconds: number, random: () => number): Promise<MixedReport> {
  using data = scratchDirectory()
  using scratch = scratchDirectory()
  const [project, temporary] = ['project', 'tmp'].map((name) => join(scratch.path, name)) as [string, string]
  for (const directory of [project, temporary]) mkdirSync(directory)
  for (let i = 0; i < 40; i++)
    writeFileSync(join(project, `notes${i}.md`), `# Lighthouse ${i}\n${'a light in the night 7\n'.repeat(500)}`)
  const preload = fileURLToPath(new URL('../support/report-memory.ts', import.meta.url))
  const environment = {
    TMPDIR: temporary,
    PORTICO_PERMISSION_TIMEOUT: '5',
    PORTICO_LOG_LEVEL: 'warn',
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${preload}`,
  }
  const short = seconds < FULL_SIZE_SECONDS
  const limits: Held = short ? { ...MORE, rssMb: Number.POSITIVE_INFINITY } : MORE
  const rest = short ? SHORT_REST : REST
  const product = await startSingle({ dataDirectory: data.path, project, environment })
  try {
    await mixedLoad(product.url, Math.min(90, Math.max(10, seconds / 4)), random)
    const before = await rested(product, temporary, rest)
    const over = new AbortController()
    const watching = watch(product, temporary, over.signal)
    const done = await mixedLoad(product.url, seconds, random)
    over.abort()
    const most = await watching
    const after = await rested(product, temporary, rest, { before, limits })
    const more = excess(after, { before, limits })
    assert.equal(more, undefined, `${more} did not come back: ${JSON.stringify({ before, most, after, limits })}`)
    return { done, before, most, after }
  } finally {
    assert.equal(await product.stop(), 0, 'the server did not end well')
  }
}

/** What is held once the server is idle: as soon as it is not more than before, else after the rest. */
async function rested(
  product: Product,
  temporary: string,
  { beforeMs, lookMs }: typeof REST,
  known?: { readonly before: Held; readonly limits: Held },
): Promise<Held> {
  const begun = Date.now()
  const isOver = (): boolean => Date.now() - begun > (known === undefined ? beforeMs : REST_MS)
  for (;;) {
    // Measuring is work, too, and the server gives memory back only when it is idle.
    do await sleep(lookMs)
    while (!isOver() && residentMb(product) > (known === undefined ? 0 : known.before.rssMb + known.limits.rssMb))
    const held = await look(product, temporary)
    const isBack = known === undefined || excess(held, known) === undefined
    if (isBack || isOver()) return held
  }
}

/** The name of a resource that is held beyond its limit. */
function excess(after: Held, { before, limits }: { readonly before: Held; readonly limits: Held }): string | undefined {
  const names = Object.keys(limits) as (keyof Held)[]
  return names.find((name) => after[name] > before[name] + limits[name])
}

async function watch(product: Product, temporary: string, signal: AbortSignal): Promise<Held> {
  let most = await look(product, temporary)
  while (!signal.aborted) {
    await sleep(2_000, undefined, { signal }).catch(() => {})
    const held = await look(product, temporary)
    most = Object.fromEntries(
      Object.entries(held).map(([name, value]) => [name, Math.max(value, most[name as keyof Held])]),
    ) as unknown as Held
  }
  return most
}

async function look(product: Product, temporary: string): Promise<Held> {
  const [server] = product.processes()
  const pid = server?.child.pid ?? 0
  const lines = (): string[] => (server?.output() ?? '').split('\n').filter((line) => line.startsWith('{"held"'))
  const known = lines().length
  process.kill(pid, 'SIGUSR2')
  for (const since = Date.now(); lines().length === known; await sleep(20)) {
    assert.ok(Date.now() - since < 30_000, 'the server does not say what it holds: its event loop stands still')
  }
  const { held } = JSON.parse(lines().at(-1) ?? '') as { held: { heapUsed: number; external: number } }
  return {
    rssMb: residentMb(product),
    heapMb: Math.round(held.heapUsed / 1_048_576),
    externalMb: Math.round(held.external / 1_048_576),
    files: readdirSync(`/proc/${pid}/fd`).length,
    threads: statusOf(product, 'Threads'),
    children: readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).length,
    temporary: readdirSync(temporary).length,
  }
}

function residentMb(product: Product): number {
  return Math.round(statusOf(product, 'VmRSS') / 1_024)
}

/** A number of /proc/PID/status. */
function statusOf(product: Product, name: string): number {
  const status = readFileSync(`/proc/${product.processes()[0]?.child.pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
}
