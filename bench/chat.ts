// `node bench/chat.ts [--share X] [--rounds N] [json | streams | memory …]`: chat completions of Portico, with its ledger and a key that has
// limits, beside a bare undici proxy, a bare Express server and Portkey's gateway of npm, which is installed into a temporary folder. All
// are asked in turns, through one upstream. --share makes rounds shorter, to try things, but never the warm-up: what runs is compiled on
// the way, and each side by other code. Linux only.
import { parseArgs } from 'node:util'
import { casesOf } from './chat/cases.ts'
import { compare } from './chat/compare.ts'
import { measureMemory } from './chat/memory.ts'
import { type Side, startSides } from './chat/sides.ts'
import { LoadClient } from './harness/load.ts'
import { load, print } from './harness/report.ts'

const WARM_UP = { requests: 15_000, connections: 16 }
const MEMORY_REQUESTS = 10_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { share: { type: 'string', default: '1' }, rounds: { type: 'string', default: '5' } },
})
const [share, rounds] = [Number(values.share), Number(values.rounds)]
const asked = (name: string): boolean => positionals.length === 0 || positionals.includes(name)
const cases = casesOf(share)

print(`Node ${process.version}, ${rounds} rounds: median (least to most), load average ${load()}`)
{
  await using all = await startSides()
  if (asked('json')) {
    for (const side of all.sides) await warmUp(side, 'Say something.', false)
    for (const each of cases.json) await compare(each, all.sides, rounds)
  }
  if (asked('streams')) {
    for (const side of all.sides) await warmUp(side, 'Say 5 words.', true)
    for (const each of cases.streams) await compare(each, all.sides, rounds)
  }
}
if (asked('memory')) await measureMemory(Math.ceil(MEMORY_REQUESTS * share), rounds)

/** The first thousands of requests are compiled while they run. */
async function warmUp(side: Side, prompt: string, stream: boolean): Promise<void> {
  const { requests, connections } = WARM_UP
  await using client = new LoadClient(side.server.url, connections)
  await client.load(requests, connections, () => side.request(prompt, stream))
}
