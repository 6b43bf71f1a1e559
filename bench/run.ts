// `npm run bench [-- CASE …]`: sends the same requests to Portico and a reference, alternating, and prints the costs.
// Writes only temporary folders; with --profile DIR also a CPU profile of each server, which makes the figures
// meaningless.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { type BenchCase, CASES } from './cases.ts'
import { type HangUp, measureHangUp } from './hang-up.ts'
import { type Comparison, type Figures, measure } from './measure.ts'

const HANG_UP = 'hang-up'
const HANG_UP_GOAL_MS = 100
const names = [...CASES.map(({ name }) => name), HANG_UP]
const USAGE = `Usage: npm run bench [-- [--profile DIR] CASE …]\nCases: ${names.map((name) => `'${name}'`).join(', ')}`

const options = { profile: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
const { values, positionals } = parseWords()
if (values.help) {
  print(USAGE)
  process.exit()
}
const unknown = positionals.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  refuse(`No such case: ${unknown.join(', ')}`)
}
const asked = (name: string): boolean => positionals.length === 0 || positionals.includes(name)

print(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}, ${process.platform}`)
for (const benchCase of CASES) {
  if (asked(benchCase.name)) printCase(benchCase, await measure(benchCase, values.profile))
}
if (asked(HANG_UP)) printHangUp(await measureHangUp())

function parseWords() {
  try {
    return parseArgs({ allowPositionals: true, options })
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

function refuse(why: string): never {
  process.stderr.write(`${why}\n${USAGE}\n`)
  process.exit(2)
}

function printCase(benchCase: BenchCase, comparisons: readonly Comparison[]): void {
  for (const { concurrency, reference, portico } of comparisons) {
    print(
      `\n${benchCase.name}, ${concurrency} at once${' '.repeat(6)}p50 ms   requests/s   CPU µs per ${benchCase.per.unit}`,
    )
    print(row('reference', reference))
    print(row('Portico', portico))
    const ratios: Figures = {
      p50: portico.p50 / reference.p50,
      requestsPerSecond: portico.requestsPerSecond / reference.requestsPerSecond,
      cpu: portico.cpu / reference.cpu,
    }
    print(`${row('ratio', ratios)}${verdict(benchCase.goal, portico.cpu, ratios.cpu)}`)
  }
}

function verdict(goal: BenchCase['goal'], cpu: number, ratio: number): string {
  if (goal === undefined) return ''
  if ('ratio' in goal) return `   goal: at most ${goal.ratio} times the CPU: ${ratio <= goal.ratio ? 'met' : 'MISSED'}`
  return `   goal: at most ${goal.microseconds} µs: ${cpu <= goal.microseconds ? 'met' : 'MISSED'}`
}

function printHangUp({ reference, portico }: { reference: HangUp; portico: HangUp }): void {
  print('\nhang-up of a client until the upstream sees it      median ms   worst ms')
  for (const [name, figures] of Object.entries({ reference, Portico: portico })) {
    print(`  ${name.padEnd(46)}${figures.median.toFixed(1).padStart(12)}${figures.worst.toFixed(1).padStart(11)}`)
  }
  print(`  goal: at most ${HANG_UP_GOAL_MS} ms: ${portico.worst <= HANG_UP_GOAL_MS ? 'met' : 'MISSED'}`)
}

function row(name: string, { p50, requestsPerSecond, cpu }: Figures): string {
  const digits = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)
  return `  ${name.padEnd(28)}${digits(p50).padStart(10)}${digits(requestsPerSecond).padStart(13)}${digits(cpu).padStart(17)}`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
