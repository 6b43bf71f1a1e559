// `node bench/chat.ts [--share X] [--rounds N] [json | streams | memory …]`: compares chat completions by Portico, with
// its ledger and a key that has limits, with a bare undici proxy, a bare Express server and Portkey's gateway from npm,
// which is installed into a temporary folder. All alternate, and use one upstream. --share shortens the rounds, for
// trials, but never the warm-up, since V8 compiles code while it runs, and differently for each side. Linux only.
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

/** The first thousands of requests run while V8 still compiles. */
async function warmUp(side: Side, prompt: string, stream: boolean): Promise<void> {
  const { requests, connections } = WARM_UP
  await using client = new LoadClient(side.server.url, connections)
  await client.load(requests, connections, () => side.request(prompt, stream))
}
