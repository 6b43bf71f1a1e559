// `node bench/template.ts`: the cost of a chunk of a streamed chat completion that is read by the template of its
// neighbours, compared with one that must be parsed: the same chunks with a varying number of spaces in front, which
// defeats the template. Alternating.
import { OpenaiMapper } from '#services/inference/adapters/openai/mapper.ts'
import { median } from './harness/load.ts'

const ROUNDS = 21
const CHUNKS = 4_000
const TIMES = 10
const head =
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-bench","system_fingerprint":"fp_1",'
const chunk = (word: string): string =>
  `${head}"choices":[{"index":0,"delta":{"content":"${word}"},"logprobs":null,"finish_reason":null}],"usage":null}`
const alike = Array.from({ length: CHUNKS }, (_, i) => chunk(` word${i % 97}`))
const sides = { template: alike, parsed: alike.map((data, i) => `${' '.repeat(i % 2)}${data}`) }

/** Microseconds of CPU time per chunk. */
function read(chunks: readonly string[]): number {
  const before = process.cpuUsage()
  for (let time = 0; time < TIMES; time++) {
    const mapper = new OpenaiMapper('openai', [])
    for (const [i, data] of chunks.entries()) {
      mapper.push(data)
      if (i % 16 === 0) mapper.take()
    }
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (TIMES * CHUNKS)
}

const taken = { template: [] as number[], parsed: [] as number[] }
for (let round = 0; round < ROUNDS; round++) {
  for (const side of ['template', 'parsed'] as const) {
    const cost = read(sides[side])
    if (round > 0) taken[side].push(cost)
  }
}
const [template, parsed] = [median(taken.template), median(taken.parsed)]
process.stdout.write(
  `a chunk of ${chunk(' word').length} bytes: by the template ${template.toFixed(2)} µs, parsed ${parsed.toFixed(2)} µs, ratio ${(template / parsed).toFixed(2)}\n`,
)
