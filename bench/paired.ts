// `node bench/paired.ts --base DIR [--rounds N] [--warm N] [--at N] [CASE …]`: runs the same cases on Portico from
// another work tree (an older commit) and from this one, alternating, and prints how much CPU time each took, and the
// ratio. Writes only temporary folders.
import { parseArgs } from 'node:util'
import { CASES as ALONE, type BenchCase } from './cases.ts'
import { CHAT_CASES } from './chat/paired-cases.ts'
import { LoadClient, median } from './harness/load.ts'
import type { BenchServer } from './harness/server.ts'
import { startPair } from './servers.ts'

const CASES = [...ALONE, ...CHAT_CASES]
const USAGE = `Usage: node bench/paired.ts --base DIR [--rounds N] [--warm N] [--at N] [CASE …]
Cases: ${CASES.map(({ name }) => `'${name}'`).join(', ')}`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    rounds: { type: 'string', default: '20' },
    /** Number of requests that warm up each side, of the first case and concurrency. */
    warm: { type: 'string', default: '15000' },
    /** Only with this concurrency. */
    at: { type: 'string' },
  },
})
const unknown = positionals.filter((name) => !CASES.some((one) => one.name === name))
if (values.base === undefined || unknown.length > 0) {
  process.stderr.write(`${USAGE}\n`)
  process.exit(2)
}
const rounds = Number(values.rounds)
const cases = CASES.filter(({ name }) => positionals.length === 0 || positionals.includes(name))

await using servers = await startPair(values.base)
let warm = Number(values.warm)
for (const benchCase of cases) {
  for (const [concurrency, requests] of Object.entries(benchCase.rounds)) {
    if (values.at !== undefined && values.at !== concurrency) continue
    await compare(benchCase, Number(concurrency), requests)
    warm = 0
  }
}

async function compare(benchCase: BenchCase, concurrency: number, requests: number): Promise<void> {
  await using before = await side(benchCase, servers.before, concurrency)
  await using now = await side(benchCase, servers.now, concurrency)
  for (const { cpu } of [before, now]) await cpu(Math.max(warm, requests))
  const pairs: { before: number; now: number; ratio: number }[] = []
  while (pairs.length < rounds) {
    // The order changes, so that what the first one leaves behind affects both.
    const first = pairs.length % 2 === 0 ? before : now
    const one = await first.cpu(requests)
    const other = await (first === before ? now : before).cpu(requests)
    const [old, young] = first === before ? [one, other] : [other, one]
    pairs.push({ before: old, now: young, ratio: young / old })
  }
  const ratios = pairs.map(({ ratio }) => ratio).toSorted((a, b) => a - b)
  const quarter = (share: number): string => (ratios[Math.floor(share * (ratios.length - 1))] ?? Number.NaN).toFixed(2)
  const micro = (values: number[]): string => median(values).toFixed(1)
  process.stdout.write(
    `${benchCase.name}, ${concurrency} at once: CPU µs per ${benchCase.per.unit} ${micro(pairs.map((pair) => pair.before))} → ` +
      `${micro(pairs.map((pair) => pair.now))}, ratio ${median(ratios).toFixed(3)} (quartiles ${quarter(0.25)} to ${quarter(0.75)})\n`,
  )
}

async function side(benchCase: BenchCase, server: BenchServer, concurrency: number) {
  const client = new LoadClient(server.url, concurrency)
  const next = await benchCase.prepare(client, servers.project)
  return {
    /** Microseconds of the server's CPU time per request or chunk. */
    async cpu(requests: number): Promise<number> {
      const begun = await server.cpu()
      await client.load(requests, concurrency, next)
      return ((await server.cpu()) - begun) / (requests * benchCase.per.count)
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}
