// `node bench/conditions.ts`: the most expensive conditions that are accepted, each kind at its maximum length, with
// the largest claims. Prints the CPU time of the first evaluation in a process of its own (median of 5) and the median
// of 100 more, and fails if one takes more than 10 ms: the limit of 5 ms, and one search that it cannot interrupt.
import { execFileSync } from 'node:child_process'
import { CelConditions } from '#services/identity/adapters/cel/cel-conditions.ts'
import type { ConditionClaims } from '#services/identity/ports/conditions.ts'
import { median } from './harness/load.ts'

const GOAL_MS = 10
const ROUNDS = 100
const PROCESSES = 5

/** The capacity of a token of 16,384 characters: 12,288 bytes of claims. */
const CLAIMS: Readonly<Record<string, ConditionClaims>> = {
  'long scopes': claims({ scopes: Array(16).fill('a'.repeat(512)), audience: Array(7).fill('a'.repeat(512)) }),
  'long audiences': claims({ audience: Array(22).fill('a'.repeat(512)) }),
  'many audiences': claims({ audience: Array(64).fill('a'.repeat(180)) }),
  'a long type': claims({ tokenType: 'a'.repeat(11_500) }),
  'characters of two units': claims({ scopes: Array(5).fill('\u{1f600}'.repeat(512)) }),
}

function claims(more: Partial<ConditionClaims>): ConditionClaims {
  return { subject: 'a'.repeat(512), audience: ['a'], scopes: [], tokenType: '', ...more }
}

const joined = (text: string, count: number, operator = ' || '): string => Array(count).fill(text).join(operator)
const long = 'a'.repeat(100)

/** Kinds of conditions, each with a length of `count`. */
const KINDS: readonly ((count: number) => string)[] = [
  ...['scopes', 'audience'].flatMap((list) => [
    (count: number) => `${list}.exists(s, ${joined('size(s) == 1', count)})`,
    (count: number) => `${list}.exists(s, ${joined('s.contains("aaaab")', count)})`,
    (count: number) => `${list}.exists(s, ${joined(`s.contains("b${long}")`, count)})`,
    (count: number) => `${list}.exists(s, s.contains("b${'a'.repeat(count)}"))`,
    (count: number) => `${list}.exists(s, ${joined('s in scopes', count)})`,
    (count: number) => `${list}.exists(s, ${joined('s + "b" in audience', count)})`,
    (count: number) => `${list}.exists(s, ${joined('s == ""', count)})`,
    (count: number) => `${list}.exists(s, ${joined('s.startsWith(subject + "b")', count)})`,
    (count: number) => `${list}.exists(s, size(${joined('s', count, ' + ')}) == 1)`,
    (count: number) => `${list}.exists(s, s in [${joined('"b"', count, ', ')}])`,
    (count: number) => `${list}.exists(s, ${joined('scopes[9] == ""', count)})`,
    (count: number) => `${list}.exists(s, scopes[9] == "" || ${joined('s == ""', count)})`,
    (count: number) => `${list}.exists(s, ${joined('1', count, ' + ')} == 0)`,
    (count: number) => `${list}.filter(s, ${joined('s != ""', count, ' && ')}).size() == 1`,
    (count: number) => `${list}.map(s, ${joined('s', count, ' + ')}) == ${list}.map(s, ${joined('s', count, ' + ')})`,
    (count: number) => joined(`${list}.exists(s, s == "")`, count),
    (count: number) => joined(`${list}.all(s, s == subject)`, count, ' && '),
  ]),
  (count) => joined('scopes[9] == ""', count),
  (count) => joined('size(token_type) == 1', count),
  (count) => joined('token_type.contains("aaab")', count),
  (count) => joined(`token_type.contains("b${long}")`, count),
  (count) => joined('token_type.contains(subject + "b")', count),
  (count) => `size(${joined('subject', count, ' + ')}) == 1`,
  (count) => `(${joined('subject', count, ' + ')}).contains("b" + subject)`,
  (count) => `[${joined('token_type', count, ', ')}] == [${joined('token_type + ""', count, ', ')}]`,
]

/** The longest accepted condition of a kind; undefined: there is none. */
function longest(kind: (count: number) => string): string | undefined {
  const conditions = new CelConditions()
  let [accepted, refused] = [0, 1001]
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2)
    if ('problem' in conditions.read(kind(middle))) refused = middle
    else accepted = middle
  }
  return accepted === 0 ? undefined : kind(accepted)
}

interface Timed {
  readonly text: string
  readonly on: string
  readonly median: number
}

/** How long each evaluation of a condition takes, in milliseconds by a clock. */
function times(text: string, on: string, rounds: number, clock = () => performance.now()): readonly number[] {
  const conditions = new CelConditions()
  const condition = conditions.read(text)
  const given = CLAIMS[on]
  if ('problem' in condition || given === undefined) throw new Error(text)
  return Array.from({ length: rounds }, () => {
    const begun = clock()
    condition.evaluate(given)
    return clock() - begun
  })
}

function time(text: string, on: string): Timed {
  return { text, on, median: median(times(text, on, ROUNDS)) }
}

function cpuOfThread(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * How long the first evaluation takes in a fresh process, in CPU time, since it is measured once while others run
 * beside it.
 */
function timeFirst({ text, on }: Timed): number {
  const alone = () => Number(execFileSync(process.execPath, [import.meta.filename, text, on], { encoding: 'utf8' }))
  return median(Array.from({ length: PROCESSES }, alone))
}

function compare(): void {
  const accepted = KINDS.map(longest).filter((text) => text !== undefined)
  const slowestOf = (text: string): Timed =>
    Object.keys(CLAIMS)
      .map((on) => time(text, on))
      .reduce((one, other) => (one.median > other.median ? one : other))
  const timed = accepted.map(slowestOf).map((slowest) => ({ ...slowest, first: timeFirst(slowest) }))
  print(`${accepted.length} conditions of ${KINDS.length} kinds; first and median in ms; the slowest:`)
  for (const { text, on, first, median } of timed.toSorted((one, other) => other.first - one.first).slice(0, 12)) {
    print(`${first.toFixed(2).padStart(7)} ${median.toFixed(3).padStart(7)}  ${on}: ${text.slice(0, 90)}`)
  }
  const slowest = Math.max(...timed.map(({ median }) => median))
  const slowestFirst = Math.max(...timed.map(({ first }) => first))
  print(
    `slowest median ${slowest.toFixed(2)} ms, slowest first ${slowestFirst.toFixed(2)} ms; goal: at most ${GOAL_MS} ms`,
  )
  if (Math.max(slowest, slowestFirst) > GOAL_MS) process.exitCode = 1
}

const [text, on] = process.argv.slice(2)
if (text === undefined || on === undefined) compare()
else print(String(times(text, on, 1, cpuOfThread)[0]))

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
