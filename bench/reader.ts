// `node bench/reader.ts`: the cost of reading a provider's stream in this process, with our reader of undici's
// dispatch, with the body of undici's request and with that of fetch, alternating. The provider
// (`reference/upstream.ts`) is a process of its own.
import { Agent, fetch } from 'undici'
import { ResponseReader } from '#services/inference/adapters/http/response-reader.ts'
import { median } from './harness/load.ts'
import { startServer } from './harness/server.ts'

const ROUNDS = 9
const STREAMS = 20
const AT_ONCE = 4
const CHUNKS = 2_000
const body = JSON.stringify({ stream: true, prompt: `${CHUNKS} words` })
const headers = { 'content-type': 'application/json' }

await using upstream = await startServer({ file: 'bench/reference/upstream.ts', env: {} })
const agent = new Agent()
/** Each reads one stream and returns its bytes. */
const readers = {
  ours: async () => {
    const reader = new ResponseReader('bench', new AbortController().signal)
    agent.dispatch({ origin: upstream.url, path: '/', method: 'POST', headers, body }, reader)
    await reader.head()
    let bytes = 0
    for (;;) {
      const chunks = await reader.read()
      if (chunks === undefined) return bytes
      for (const chunk of chunks) bytes += chunk.byteLength
    }
  },
  'undici request': async () => {
    const answer = await agent.request({ origin: upstream.url, path: '/', method: 'POST', headers, body })
    return bytesOf(answer.body)
  },
  'undici fetch': async () => {
    const answer = await fetch(upstream.url, { method: 'POST', headers, body, dispatcher: agent })
    return bytesOf(answer.body ?? [])
  },
}

async function bytesOf(stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<number> {
  let bytes = 0
  for await (const chunk of stream) bytes += chunk.byteLength
  return bytes
}

/** Microseconds of CPU time per chunk. */
async function round(read: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage()
  const streams = async (): Promise<void> => {
    for (let i = 0; i < STREAMS / AT_ONCE; i++) if ((await read()) < CHUNKS) throw new Error('The stream was cut')
  }
  await Promise.all(Array.from({ length: AT_ONCE }, streams))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (STREAMS * CHUNKS)
}

const taken = new Map(Object.keys(readers).map((name) => [name, [] as number[]]))
for (let i = -2; i < ROUNDS; i++) {
  for (const [name, read] of Object.entries(readers)) {
    const cost = await round(read)
    if (i >= 0) taken.get(name)?.push(cost)
  }
}
for (const [name, costs] of taken) process.stdout.write(`${name.padEnd(16)}${median(costs).toFixed(2)} µs a chunk\n`)
await agent.destroy()
