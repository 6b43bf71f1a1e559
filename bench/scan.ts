// `node bench/scan.ts`: the cost of counting the members of a JSON body compared with parsing it, alternating.
import { JsonGauge } from '#gateway/http/json-gauge.ts'
import { median } from './harness/load.ts'

const ROUNDS = 15
const CHUNK = 65_536
const item = (i: number): object => ({
  role: i % 2 === 0 ? 'user' : 'assistant',
  content: [
    { type: i % 2 === 0 ? 'input_text' : 'output_text', text: `Some words of a conversation, number ${i}. `.repeat(6) },
  ],
})
const history = (items: number): object => ({
  model: 'a/b',
  stream: true,
  input: Array.from({ length: items }, (_, i) => item(i)),
})

for (const [name, body, times] of [
  ['1 KB, a short history', history(3), 20_000],
  ['1 MB, a long history', history(3_000), 30],
  ['1 MB, one text', { model: 'a/b', input: 'word '.repeat(200_000) }, 100],
] as const) {
  const bytes = Buffer.from(JSON.stringify(body))
  const sides = {
    count: () => {
      const gauge = new JsonGauge()
      for (let at = 0; at < bytes.length; at += CHUNK) gauge.add(bytes.subarray(at, at + CHUNK))
    },
    parse: () => JSON.parse(bytes.toString('utf8')),
  }
  const taken = { count: [] as number[], parse: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of ['count', 'parse'] as const) {
      const before = process.cpuUsage()
      for (let i = 0; i < times; i++) sides[side]()
      const { user, system } = process.cpuUsage(before)
      if (round > 0) taken[side].push((user + system) / times)
    }
  }
  const [count, parse] = [median(taken.count), median(taken.parse)]
  const line = `${name.padEnd(24)}${bytes.length} bytes: counted in ${count.toFixed(1)} µs, parsed in ${parse.toFixed(1)} µs, ratio ${(count / parse).toFixed(2)}`
  process.stdout.write(`${line}\n`)
}
