// `node bench/bodies.ts [CASE …]`: sends Portico bodies that are expensive to read. For each, prints how long its event
// loop was blocked at most (CPU time of its thread) while it read, checked and answered it; then for ten of them at
// once, and how much its memory grew. Writes only to a temporary folder.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { API_KEY } from './cases.ts'
import { answers, bodiesFor, said } from './expensive-bodies.ts'
import { startServer } from './harness/server.ts'

const GOAL_MS = 200
// The best round counts: it shows the cost of the body itself.
const ROUNDS = 3
const AT_ONCE = 10
const GROWTH_MB = 600

const names = process.argv.slice(2)

await using stack = new AsyncDisposableStack()
const directory = await mkdtemp(join(tmpdir(), 'portico-bench-'))
stack.defer(() => rm(directory, { recursive: true, maxRetries: 5 }))
const project = join(directory, 'project')
await mkdir(project)
const linesFile = join(project, 'lines.txt')
await writeFile(linesFile, '\n'.repeat(20 << 20))
const bodies = bodiesFor(pathToFileURL(linesFile).href)
const env = { HOME: directory, NODE_ENV: 'production', PORTICO_PORT: '0', PORTICO_DATA_DIR: join(directory, 'data') }
const server = stack.use(
  await startServer({ file: 'main.ts', words: [project], env: { ...env, PORTICO_BOOTSTRAP_API_KEY: API_KEY } }),
)
const headers = { 'content-type': 'application/json', authorization: `Bearer ${API_KEY}` }
const post = async (path: string, body: string | Buffer): Promise<number> => {
  const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body })
  for await (const _ of answer.body ?? []);
  return answer.status
}
await post('/api/session', '{"id":"ses_bench"}')
for (let i = 0; i < 50; i++) await post(answers, said('warm'))

print(
  `${'body'.padEnd(40)}${'MB'.padStart(8)}${'status'.padStart(8)}${'answered ms'.padStart(13)}${'held ms'.padStart(9)}`,
)
let worst = 0
for (const [name, [path, make]] of Object.entries(bodies)) {
  if (names.length > 0 && !names.includes(name)) continue
  const body = Buffer.from(make())
  let [status, took, held] = [0, 0, Number.POSITIVE_INFINITY]
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now()
    const longest = await server.heldDuring(async () => {
      status = await post(path, body)
      took = performance.now() - started
    })
    held = Math.min(held, longest)
  }
  worst = Math.max(worst, held)
  const size = (body.length / 1e6).toFixed(1)
  print(
    `${name.padEnd(40)}${size.padStart(8)}${`${status}`.padStart(8)}${took.toFixed(0).padStart(13)}${held.toFixed(0).padStart(9)}`,
  )
}
print(`goal: at most ${GOAL_MS} ms: ${worst <= GOAL_MS ? 'met' : 'MISSED'}`)

print(
  `\n${`${AT_ONCE} at once`.padEnd(40)}${'answered ms'.padStart(24)}${'held ms'.padStart(9)}${'MB more'.padStart(9)}`,
)
let most = 0
for (const name of ['a prompt with 20 MB of files', 'a question of 20 MB', 'a prompt with a description of 20 MB']) {
  const [path, make] = bodies[name] as readonly [string, () => string]
  if (names.length > 0 && !names.includes(name)) continue
  const body = Buffer.from(make())
  let [took, held, grown] = [0, Number.POSITIVE_INFINITY, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const before = await residentMb()
    using _ = sampled(async () => {
      grown = Math.max(grown, (await residentMb()) - before)
    })
    const started = performance.now()
    const longest = await server.heldDuring(() => Promise.all(Array.from({ length: AT_ONCE }, () => post(path, body))))
    took = performance.now() - started
    held = Math.min(held, longest)
  }
  most = Math.max(most, grown)
  print(
    `${name.padEnd(40)}${took.toFixed(0).padStart(24)}${held.toFixed(0).padStart(9)}${grown.toFixed(0).padStart(9)}`,
  )
}
print(`goal: at most ${GROWTH_MB} MB more: ${most <= GROWTH_MB ? 'met' : 'MISSED'}`)

async function residentMb(): Promise<number> {
  const pages = (await readFile(`/proc/${server.process.pid}/statm`, 'utf8')).split(' ')[1]
  return (Number(pages) * 4_096) / 1e6
}

function sampled(sample: () => Promise<void>): Disposable {
  const timer = setInterval(() => void sample(), 20)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
