import { LoadClient, median } from '../harness/load.ts'
import { memory } from '../harness/process-usage.ts'
import { goalOf, print, spread } from '../harness/report.ts'
import { startPorticoSide } from './sides.ts'

const CONNECTIONS = 16
const GOAL_MB = 250
/** Memory within this factor counts as constant, since garbage that waits to be collected is resident, too. */
const FLAT = 1.1

/**
 * Prints the memory of a process after this many requests of 1 KB, and after as many again; each round in a process of
 * its own.
 */
export async function measureMemory(requests: number, rounds: number): Promise<void> {
  const [once, twice]: [number[], number[]] = [[], []]
  for (let n = 0; n < rounds; n++) {
    await using side = await startPorticoSide()
    const { server, request } = side.portico
    await using client = new LoadClient(server.url, CONNECTIONS)
    for (const kept of [once, twice]) {
      await client.load(requests, CONNECTIONS, () => request('Say something.', false))
      kept.push(memory(server.process.pid ?? 0))
    }
  }
  const growth = median(twice) / median(once)
  print('\nresident memory of Portico, MB')
  print(`  after ${requests} requests ${spread(once)}${goalOf(median(once) <= GOAL_MB, `at most ${GOAL_MB}`)}`)
  print(`  after as many again ${spread(twice)}${goalOf(growth <= FLAT, `flat, at most ${FLAT} of that before`)}`)
}
