import { median } from '../harness/load.ts'
import { memory } from '../harness/process-usage.ts'
import { addedOf, type ChatCase, type Figures, type Goal } from './compare.ts'
import type { Side } from './sides.ts'
import { chunkDelays, firstChunks } from './streams.ts'

const [P50, SPEED, CPU] = ['p50 ms', 'requests/s', 'CPU µs a request']
const [FIRST, CPU_OF_CHUNK, CHUNKS] = ['first chunk ms', 'CPU µs a chunk', 'chunks/s']
const [MEMORY, DELAY] = ['resident MB', 'p99 delay ms']
/** Number of chunks in a stream of the upstream, unless the prompt sets one. */
const WORDS = 200

/** The options of cases: of JSON, and of streams; `share` shortens their rounds. */
export function casesOf(share: number): Readonly<Record<'json' | 'streams', readonly ChatCase[]>> {
  const some = (count: number, least = 1): number => Math.max(least, Math.ceil(count * share))
  const json = (
    size: string,
    prompt: string,
    connections: number,
    requests: number,
    goals: readonly Goal[],
  ): ChatCase => ({
    name: `JSON of ${size}, ${connections} at once`,
    connections,
    added: P50,
    goals,
    async round(side, client) {
      const count = some(requests, connections)
      const before = await side.server.cpu()
      const { p50, requestsPerSecond } = await client.load(count, connections, () => side.request(prompt, false))
      return { [P50]: p50, [SPEED]: requestsPerSecond, [CPU]: ((await side.server.cpu()) - before) / count }
    },
  })
  const added = (most: number): Goal => ({ figure: addedOf(P50), beside: 'Portkey', most })
  const first = (name: string, streams: number, times: number, prompt: string, most: number): ChatCase => ({
    name,
    connections: streams,
    added: FIRST,
    goals: [{ figure: addedOf(FIRST), beside: 'Portkey', most }],
    async round(side, client) {
      const all: number[] = []
      for (let time = 0; time < some(times); time++) all.push(...(await firstChunks(side, client, streams, prompt)))
      return { [FIRST]: median(all) }
    },
  })
  const slow = some(1_000)
  return {
    json: [
      json('1 KB', 'Say something.', 1, 1_000, [added(0.6)]),
      json('1 KB', 'Say something.', 16, 4_000, [
        { figure: SPEED, beside: 'Portkey', least: 3.5 },
        { figure: CPU, beside: 'Portkey', most: 0.22 },
        { figure: CPU, beside: 'undici proxy', most: 4.5 },
        added(1 / 3),
      ]),
      json('1 KB', 'Say something.', 64, 4_000, [added(1 / 3)]),
      json('20 KB', 'Say 4000 words.', 16, 1_000, [{ figure: CPU, beside: 'undici proxy', most: 8 }]),
    ],
    streams: [
      {
        name: `streams of ${WORDS} chunks in bursts, 16 at once`,
        connections: 16,
        goals: [{ figure: CPU_OF_CHUNK, beside: 'Portkey', most: 0.45 }],
        async round(side, client) {
          const streams = some(320, 16)
          return ofChunks(side, streams * WORDS, () =>
            client.load(streams, 16, () => side.request('Say something.', true)),
          )
        },
      },
      first('first chunk of a stream with a chunk each 10 ms, alone', 1, 40, 'Say 5 words each 10 ms.', 0.1),
      first('first chunk of 100 streams that start at once', 100, 5, 'Say 20 words each 10 ms.', 0.25),
      {
        name: '100 streams with a chunk each 10 ms',
        connections: 100,
        goals: [{ figure: CPU_OF_CHUNK, beside: 'undici proxy', most: 1.5 }],
        async round(side, client) {
          const words = some(400)
          const prompt = `Say ${words} words each 10 ms.`
          return ofChunks(side, 100 * words, () => client.load(100, 100, () => side.request(prompt, true)))
        },
      },
      {
        name: `${slow} streams with a chunk each second`,
        connections: slow,
        sides: ['Express', 'Portico'],
        goals: [
          { figure: MEMORY, beside: 'Express', most: 3 },
          { figure: DELAY, beside: 'Express', most: 2 },
        ],
        async round(side, client) {
          const [words, prompt] = [10, 'Say 10 words each 1000 ms.']
          let megabytes = Number.NaN
          const onHalfOfChunks = (): void => {
            megabytes = memory(side.server.process.pid ?? 0)
          }
          const delays = await chunkDelays(side, client, {
            streams: slow,
            prompt,
            chunks: slow * words,
            onHalfOfChunks,
          })
          return { [MEMORY]: megabytes, [DELAY]: delays[Math.floor(delays.length * 0.99)] ?? Number.NaN }
        },
      },
    ],
  }
}

async function ofChunks(side: Side, chunks: number, run: () => Promise<unknown>): Promise<Figures> {
  const [cpu, begun] = [await side.server.cpu(), performance.now()]
  await run()
  const seconds = (performance.now() - begun) / 1_000
  return { [CHUNKS]: chunks / seconds, [CPU_OF_CHUNK]: ((await side.server.cpu()) - cpu) / chunks }
}
