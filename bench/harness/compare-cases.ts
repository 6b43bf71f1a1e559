import { median } from './load.ts'

/** Something that is done many times in this process. */
export interface Case {
  readonly name: string
  /** Calls per round. */
  readonly calls: number
  /** Concurrent calls. */
  readonly concurrency: number
  run(): Promise<unknown>
}

/**
 * Runs all cases alternately, after a round that does not count. For each, prints the median CPU time of this process,
 * in microseconds per `per` unit of a call, and its ratio to the first case.
 */
export async function compareCases(title: string, cases: readonly Case[], rounds: number, per = 1): Promise<void> {
  const samples = new Map<Case, number[]>(cases.map((each) => [each, []]))
  for (let round = -1; round < rounds; round++) {
    for (const each of round % 2 === 0 ? cases : cases.toReversed()) {
      const sample = await cpuOfCall(each)
      if (round >= 0) samples.get(each)?.push(sample / per)
    }
  }
  const medians = cases.map((each) => median(samples.get(each) ?? []))
  console.log(`\n${title}: µs of CPU, both ends together, median of ${rounds} rounds (ratio to the first row)`)
  for (const [at, { name }] of cases.entries()) {
    const value = medians[at] ?? Number.NaN
    const ratio = value / (medians[0] ?? Number.NaN)
    console.log(`  ${name.padEnd(32)} ${value.toFixed(2).padStart(9)}  ${ratio.toFixed(1).padStart(8)}×`)
  }
}

async function cpuOfCall({ calls, concurrency, run }: Case): Promise<number> {
  const before = process.cpuUsage()
  let left = calls
  const worker = async (): Promise<void> => {
    while (left-- > 0) await run()
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}
