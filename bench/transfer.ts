// How much memory an import and an export of a session with 45 MB of attachments take, in one process and, with the
// URI of a MongoDB replica set, in five. Usage: transfer.ts [MONGODB_URI]
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { dropDatabase } from '#test/support/mongo.ts'
import { type Product, startSingle, startSplit } from '#test/support/product.ts'

const MESSAGES = 9
const FILE_BYTES = 5_000_000
const PIECE = 65_536
/** How long after a start the memory is measured. */
const REST_MS = 10_000
const TRANSFER = '/api/experimental/session'

const folder = await mkdtemp(join(tmpdir(), 'portico-transfer-'))
try {
  const setting = { dataDirectory: join(folder, 'data'), project: folder }
  await measure('one process on SQLite', await startSingle(setting))
  const [uri] = process.argv.slice(2)
  const database = { PORTICO_MONGODB_DATABASE: `bench_transfer_${process.pid}` }
  if (uri !== undefined) {
    const split = { ...setting, environment: database }
    await measure('five processes on MongoDB', await startSplit(uri, split))
    await dropDatabase(database.PORTICO_MONGODB_DATABASE)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function measure(name: string, product: Product): Promise<void> {
  try {
    await delay(REST_MS)
    process.stdout.write(`${name}\n`)
    await during('import', product, async () => {
      const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
      const outgoing = request(`${product.url}${TRANSFER}/import`, { method: 'POST', headers })
      const answered = new Promise<number>((resolve, reject) => {
        outgoing.on('response', (answer) => resolve(answer.resume().statusCode ?? 0)).on('error', reject)
      })
      await pipeline(Readable.from(body()), outgoing)
      if ((await answered) !== 200) throw new Error(`The import failed: ${await answered}`)
    })
    await during('export', product, async () => {
      const answer = await fetch(`${product.url}${TRANSFER}/ses_transfer/export`)
      let size = 0
      for await (const chunk of answer.body ?? []) size += chunk.length
      if (size < (MESSAGES * FILE_BYTES * 4) / 3) throw new Error(`The export has ${size} bytes`)
    })
  } finally {
    await product.stop()
  }
}

/** The text of a body. The files differ only in their first bytes, so that making them delays nobody. */
function* body(): Generator<string> {
  const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
  const content = randomBytes(FILE_BYTES - 9).toString('base64')
  yield `{"info":${JSON.stringify({ id: 'ses_transfer', cost: 0, tokens, time: { created: 1 } })},"messages":[`
  for (let n = 0; n < MESSAGES; n++) {
    yield `${n === 0 ? '' : ','}{"id":"msg_transfer_${n}","type":"user","time":{"created":${n}},"text":"See the file","files":[`
    yield `{"mime":"image/png","source":{"type":"inline"},"data":"${Buffer.from(String(n).padStart(9, '0')).toString('base64')}`
    for (let at = 0; at < content.length; at += PIECE) yield content.slice(at, at + PIECE)
    yield '"}]}'
  }
  yield ']}'
}

/** Runs something, and prints how much each process grew meanwhile, and how long another request took at most. */
async function during(what: string, product: Product, run: () => Promise<void>): Promise<void> {
  const before = product.pids().map(megabytes)
  const most = [...before]
  let running = true
  let longest = 0
  const looking = (async () => {
    for (; running; await delay(20)) {
      product.pids().forEach((pid, i) => {
        most[i] = Math.max(most[i] ?? 0, megabytes(pid))
      })
      const since = performance.now()
      await fetch(`${product.url}/api/session/active`).then((answer) => answer.text())
      longest = Math.max(longest, performance.now() - since)
    }
  })()
  const since = performance.now()
  await run()
  const seconds = (performance.now() - since) / 1_000
  running = false
  await looking
  const grown = most.map((megabytes, i) => Math.round(megabytes - (before[i] ?? 0)))
  process.stdout.write(
    `  ${what}: ${seconds.toFixed(1)} s, memory + ${grown.join(', ')} MB   goal: under 100 in every process\n`,
  )
  process.stdout.write(`    another request took ${Math.round(longest)} ms at most\n`)
}

/** Resident memory of a process. */
function megabytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
