// Exchanges of Portico (one process, SQLite: policy, rate limit, audit log) and of a bare server that verifies and
// signs, alternating: how many per second of CPU time, and the 99th percentile at half of Portico's maximum load.
// Usage: node bench/exchange.ts [ROUNDS]
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addPolicy, openReplica, replicaToken } from '#test/support/identity-replica.ts'
import { newTokenKey, type TokenKey } from '#test/support/subject-tokens.ts'
import { type BenchRequest, LoadClient, median } from './harness/load.ts'
import { type BenchServer, startServer } from './harness/server.ts'

const ROUNDS = Number(process.argv[2] ?? 7)
const REQUESTS = 2_000
const CONCURRENCY = 16
/** Number of requests at half load, each sent at its scheduled time. */
const PACED = 2_000
const GOALS = { perCpu: 0.6, p99: 3 }

for (const alg of ['RS256', 'ES256'] as const) await compare(alg)

async function compare(alg: TokenKey['alg']): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'portico-bench-'))
  stack.defer(() => rm(directory, { recursive: true }))
  const key = newTokenKey(alg, 'k1')
  const settings = { PORTICO_DATA_DIR: directory, PORTICO_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 'k').toString('base64') }
  const { policyId } = await prepare(settings, key)
  const portico = stack.use(
    await startServer({
      file: 'main.ts',
      env: {
        ...settings,
        HOME: directory,
        NODE_ENV: 'production',
        PORTICO_PORT: '0',
        PORTICO_LOG_LEVEL: 'error',
        PORTICO_EXCHANGES_PER_MINUTE: '1000000',
      },
    }),
  )
  const keys = { publicJwk: key.jwk, privateJwk: newTokenKey('ES256', 'bench').privateKey.export({ format: 'jwk' }) }
  const reference = stack.use(
    await startServer({ file: 'bench/reference/exchange.ts', env: { BENCH_KEYS: JSON.stringify(keys) } }),
  )
  const request = exchangeOf(policyId, replicaToken(key))
  const sides = [reference, portico].map((server) => {
    return {
      server,
      client: stack.use(new LoadClient(server.url, CONCURRENCY)),
      cpu: [] as number[],
      rate: [] as number[],
      p99: [] as number[],
    }
  })
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const side of sides) {
      const { cpu, rate } = await loaded(side, request)
      if (round < 0) continue
      side.cpu.push(cpu)
      side.rate.push(rate)
    }
  }
  const perCpu = sides.map(({ cpu }) => cpu.map((each) => 1e6 / each))
  const half = median(sides[1]?.rate ?? []) / 2
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { client, p99 } of sides) p99.push(await paced(client, request, half))
  }
  const p99 = sides.map((side) => side.p99)
  print(`\n${alg} subject tokens, ${CONCURRENCY} at once, ${ROUNDS} rounds of ${REQUESTS}`)
  report('exchanges per CPU second', perCpu, GOALS.perCpu, (ratio) => ratio >= GOALS.perCpu)
  report(`p99 in ms at ${Math.round(half)} a second`, p99, GOALS.p99, (ratio) => ratio <= GOALS.p99)
}

async function prepare(settings: Readonly<Record<string, string>>, key: TokenKey) {
  await using replica = await openReplica(settings)
  return await addPolicy(replica, key)
}

function exchangeOf(policyId: string, token: string): BenchRequest {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    federation_policy_id: policyId,
    subject_token: token,
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return { method: 'POST', path: '/api/v1/oauth/token', headers, body: body.toString() }
}

async function loaded({ server, client }: { server: BenchServer; client: LoadClient }, request: BenchRequest) {
  const before = await server.cpu()
  const { requestsPerSecond } = await client.load(REQUESTS, CONCURRENCY, () => request)
  return { cpu: ((await server.cpu()) - before) / REQUESTS, rate: requestsPerSecond }
}

/**
 * Sends requests at a steady rate, whether or not earlier ones were answered; returns the 99th percentile of their
 * times, in milliseconds.
 */
async function paced(client: LoadClient, request: BenchRequest, perSecond: number): Promise<number> {
  const times: number[] = []
  const sent: Promise<unknown>[] = []
  const begun = performance.now()
  for (let index = 0; index < PACED; index += 1) {
    const due = begun + (index * 1000) / perSecond
    const early = due - performance.now()
    if (early > 0) await sleep(early)
    sent.push(client.send(request).then(() => times.push(performance.now() - due)))
  }
  await Promise.all(sent)
  return times.toSorted((one, other) => one - other)[Math.floor(PACED * 0.99)] ?? Number.NaN
}

/** Prints the medians of all rounds, and the median and the quartiles of their ratios. */
function report(
  what: string,
  [reference = [], portico = []]: number[][],
  goal: number,
  isMet: (ratio: number) => boolean,
) {
  const ratios = portico.map((value, round) => value / (reference[round] ?? Number.NaN)).toSorted((a, b) => a - b)
  const ratio = median(ratios)
  const quartile = (part: number): string => ratios[Math.floor(ratios.length * part)]?.toFixed(2) ?? ''
  const verdict = isMet(ratio) ? 'met' : 'missed'
  print(
    `  ${what.padEnd(34)} reference ${median(reference).toFixed(1).padStart(8)}  Portico ${median(portico).toFixed(1).padStart(8)}  ` +
      `ratio ${ratio.toFixed(2)} [${quartile(0.25)} to ${quartile(0.75)}] (goal ${goal}: ${verdict})`,
  )
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
