// `node bench/opencode.ts [--binary FILE] [--sessions N] [--rounds N] [--share X]`: sends the same requests to Portico
// and to `opencode serve` of the npm package `opencode-ai`, alternating; those that create sessions also to the bare
// reference, once as it is and once without its store. Without --binary, the package is installed into a temporary
// folder. Opencode's own files are in such a folder, too, and its network requests are disabled.
// --share shortens the rounds, for trials. Linux only.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type BenchRequest, LoadClient, median } from './harness/load.ts'
import { installOpencode, opencodeEnvironment } from './harness/opencode-install.ts'
import { type OpencodeServer, startOpencode } from './harness/opencode-server.ts'
import { memory } from './harness/process-usage.ts'
import { goalOf, load, print, spread } from './harness/report.ts'
import { type BenchServer, startServer } from './harness/server.ts'
import { startPortico } from './servers.ts'

const CONNECTIONS = [1, 16, 64]
const GOAL_AT = 16
const GOAL_MB = 170
/** How long after the sessions were created the memory is measured again. */
const REST_MS = 20_000
const PAGE = 50
const TITLE = 'A session of the benchmarks'
const TEXT = 'Read the README and say what this project is.'

interface Side {
  readonly name: 'Portico' | 'opencode' | 'Express' | 'Express, storing nothing'
  readonly url: string
  readonly pid: number
  readonly ids: string[]
  /** CPU time used so far, in microseconds, by all threads and, for opencode, child processes. */
  cpu(): Promise<number> | number
}

interface Case {
  readonly name: string
  /** Requests per round, which differ so that rounds take about as long. */
  readonly requests: Readonly<Record<'Portico' | 'opencode', number>>
  /** How many requests Portico must handle for each of opencode. */
  readonly goal: number
  request(side: Side, turn: number): BenchRequest
  /** Whether the references are measured, too: what at most can be reached. */
  readonly bounded?: boolean
}

/** Whether a side has the routes of Portico, as its references have. */
const isOurs = ({ name }: Side): boolean => name !== 'opencode'
const prefix = (side: Side): string => (isOurs(side) ? '/api/session' : '/session')
const post = (path: string, body: object): BenchRequest => ({ method: 'POST', path, body: JSON.stringify(body) })
const one = (side: Side, turn: number): string => `${prefix(side)}/${side.ids[turn % side.ids.length]}`

const CASES: readonly Case[] = [
  {
    name: `list of ${PAGE}`,
    requests: { Portico: 1_600, opencode: 64 },
    goal: 28,
    request: (side) => ({ method: 'GET', path: `${prefix(side)}?limit=${PAGE}` }),
  },
  {
    name: 'get',
    requests: { Portico: 6_400, opencode: 320 },
    goal: 15,
    request: (side, turn) => ({ method: 'GET', path: one(side, turn) }),
  },
  {
    name: 'admission',
    requests: { Portico: 3_200, opencode: 192 },
    goal: 15,
    request: (side, turn) =>
      isOurs(side)
        ? post(`${one(side, turn)}/prompt`, { text: TEXT, resume: false })
        : post(`${one(side, turn)}/message`, {
            noReply: true,
            model: { providerID: 'openai', modelID: 'gpt-bench' },
            parts: [{ type: 'text', text: TEXT }],
          }),
  },
  {
    name: 'create',
    requests: { Portico: 3_200, opencode: 64 },
    goal: 70,
    bounded: true,
    request: create,
  },
]

const { values } = parseArgs({
  options: {
    binary: { type: 'string' },
    sessions: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '5' },
    share: { type: 'string', default: '1' },
  },
})
const [sessions, rounds, share] = [values.sessions, values.rounds, values.share].map(Number) as [number, number, number]

await using ground = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'portico-opencode-'))
ground.defer(() => rm(folder, { recursive: true, force: true }))
const { portico, project } = ground.use(await startPortico())
const binary = values.binary ?? installOpencode(folder)
const sides = [served('Portico', portico), served('opencode', ground.use(await startOpencode(binary, folder)))] as const
const bounds = [
  served('Express', await startReference({})),
  served('Express, storing nothing', await startReference({ BENCH_STORES: 'nothing' })),
]
const version = execFileSync(binary, ['--version'], { encoding: 'utf8', env: opencodeEnvironment(folder) }).trim()
print(`Portico on Node ${process.version}, opencode ${version}, ${sessions} sessions, load average ${load()}`)
for (const side of sides) await fill(side)
for (const { name, pid } of sides) print(`  ${name}: ${memory(pid)} MB resident`)
await delay(REST_MS)
for (const { name, pid } of sides)
  print(
    `  ${name}: ${memory(pid)} MB after a rest${name === 'Portico' ? goalOf(memory(pid) < GOAL_MB, `under ${GOAL_MB}`) : ''}`,
  )
for (const each of CASES) for (const connections of CONNECTIONS) await compare(each, connections)

async function compare(each: Case, connections: number): Promise<void> {
  const all = [...sides, ...(each.bounded ? bounds : [])].map((side) => contestant(each, side, connections))
  for (const { round } of all) await round()
  for (let n = 0; n < rounds; n++) {
    // The order changes, so that what one leaves behind does not always affect the same one.
    for (const side of n % 2 === 0 ? all : all.toReversed()) side.kept.push(await side.round())
  }
  for (const { client } of all) await client[Symbol.asyncDispose]()
  print(
    `\n${each.name}, ${connections} at once, load average ${load()}      requests/s (range)        CPU µs per request (range)`,
  )
  const [ours, theirs, ...others] = all.map(({ side, kept }) => {
    const [speed, cpu] = [kept.map(({ speed }) => speed), kept.map(({ cpu }) => cpu)]
    print(`  ${side.name.padEnd(26)}${spread(speed).padStart(26)}${spread(cpu).padStart(34)}`)
    return { name: side.name, speed: median(speed), cpu: median(cpu) }
  }) as [Total, Total, ...Total[]]
  const ratio = ours.speed / theirs.speed
  const goal = connections === GOAL_AT ? goalOf(ratio >= each.goal, `at least ${each.goal} times the requests`) : ''
  print(`  ratio       ${ratio.toFixed(1).padStart(40)}${(theirs.cpu / ours.cpu).toFixed(1).padStart(34)}${goal}`)
  for (const { name, speed, cpu } of others) {
    const [faster, less] = [(speed / theirs.speed).toFixed(1), (theirs.cpu / cpu).toFixed(1)]
    print(`  ${`${name}: ratio`.padEnd(26)}${faster.padStart(26)}${less.padStart(34)}`)
  }
}

interface Total extends Measured {
  readonly name: Side['name']
}

interface Measured {
  readonly speed: number
  readonly cpu: number
}

function contestant(each: Case, side: Side, connections: number) {
  const client = new LoadClient(side.url, connections)
  const requests = Math.max(connections, Math.ceil(each.requests[isOurs(side) ? 'Portico' : 'opencode'] * share))
  let turn = 0
  const round = async (): Promise<Measured> => {
    const before = await side.cpu()
    const { requestsPerSecond } = await client.load(requests, connections, () => each.request(side, turn++))
    return { speed: requestsPerSecond, cpu: ((await side.cpu()) - before) / requests }
  }
  return { side, client, round, kept: [] as Measured[] }
}

function create(side: Side): BenchRequest {
  return post(prefix(side), isOurs(side) ? { title: TITLE, location: { directory: project } } : { title: TITLE })
}

async function fill(side: Side): Promise<void> {
  await using client = new LoadClient(side.url, GOAL_AT)
  const begun = performance.now()
  let left = sessions
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, text } = await client.send(create(side))
      if (status !== 200) throw new Error(`A session was not made: ${status} ${text}`)
      const answer = JSON.parse(text) as { readonly id: string; readonly data?: { readonly id: string } }
      side.ids.push(answer.data?.id ?? answer.id)
    }
  }
  await Promise.all(Array.from({ length: GOAL_AT }, worker))
  print(`  ${side.name}: ${side.ids.length} sessions made in ${Math.round((performance.now() - begun) / 1_000)} s`)
}

function served(name: Side['name'], { url, process, cpu }: BenchServer | OpencodeServer): Side {
  return { name, url, pid: process.pid ?? 0, ids: [], cpu }
}

async function startReference(env: Readonly<Record<string, string>>): Promise<BenchServer> {
  const directory = await mkdtemp(join(folder, 'reference-'))
  return ground.use(
    await startServer({ file: 'bench/reference/sessions.ts', env: { ...env, BENCH_DIRECTORY: directory } }),
  )
}
