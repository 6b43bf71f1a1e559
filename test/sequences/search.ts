import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyKills, anyRestarts, anySequence } from './any-sequence.ts'
import { type Failure, play, type Tally } from './play.ts'
import type { Scenario, Sequence } from './step.ts'
import type { WorldSetting } from './world.ts'

/** How much is played, and where. */
export interface Search extends WorldSetting {
  /** Sequences in all, and concurrently on one server. */
  readonly sequences: number
  readonly together: number
  /** The server is killed again and again, instead of now and then. */
  readonly kills?: boolean
  /** The seed of all that is random. */
  readonly seed: number
  /** Time to look for a smaller scenario that fails in the same way, in milliseconds. */
  readonly shrinkMs: number
  /** Called for each server without a failure. */
  readonly onHeld?: (sequences: number) => void
}

/** A smaller scenario is played this many times at once: the failure may need luck. */
const COPIES = 4

/**
 * Plays random sequences until that many have passed. Fails with the seed, what went wrong, and the smallest scenario
 * that was found, as a line that plays it again. Returns what was done.
 */
export async function search(options: Search): Promise<Readonly<Tally>> {
  const { sequences, together, onHeld } = options
  const tally: Tally = {}
  for (let done = 0; done < sequences; done += together) {
    const seed = options.seed + done
    const scenario = {
      restarts: fc.sample(options.kills ? anyKills : anyRestarts, { seed, numRuns: 1 })[0] ?? [],
      sequences: fc.sample(anySequence, { seed, numRuns: Math.min(together, sequences - done) }),
    }
    const failures = await play(scenario, options, tally)
    const [first] = failures
    if (first !== undefined) await report(options, seed, scenario, first, failures.length)
    onHeld?.(done + scenario.sequences.length)
  }
  return tally
}

/** Plays a scenario that was printed, and fails if it does. */
export async function replay(text: string, setting: WorldSetting): Promise<void> {
  const [failure] = await play(JSON.parse(text), setting)
  if (failure !== undefined) assert.fail(failure.problems.join('\n'))
}

async function report(
  options: Search,
  seed: number,
  scenario: Scenario,
  failure: Failure,
  count: number,
): Promise<never> {
  process.stderr.write(
    `Seed ${seed} does not hold: ${failure.problems
      .slice(0, 4)
      .map((problem) => problem.slice(0, 1_500))
      .join('\n  ')}\nLooking for a smaller scenario …\n`,
  )
  const small = await shrink(options, seed, scenario, failure)
  const problems = (small?.failure ?? failure).problems.slice(0, 9).map((problem) => problem.slice(0, 6_000))
  const found = small?.scenario ?? scenario
  assert.fail(
    [
      `Seed ${seed}: ${count} of ${scenario.sequences.length} sequences (the server counts as one) did not hold.`,
      ...problems.map((problem) => `  - ${problem}`),
      small === undefined ? 'It did not fail again; all of it:' : 'The smallest scenario that failed like that:',
      `${options.mongo === undefined ? '' : 'PORTICO_SEQUENCE_STORE=mongodb '}PORTICO_SEQUENCE='${JSON.stringify(found)}' npm run soak:sequences`,
    ].join('\n'),
  )
}

interface Shrunk {
  readonly scenario: Scenario
  readonly failure: Failure
}

async function shrink(options: Search, seed: number, scenario: Scenario, { at }: Failure): Promise<Shrunk | undefined> {
  const until = Date.now() + options.shrinkMs
  const guilty = at ?? (await findGuilty(options, scenario, until))
  if (guilty === undefined) return undefined
  let smallest: Shrunk | undefined
  const holds = async (sequence: Sequence, restarts = scenario.restarts): Promise<boolean> => {
    const smaller = { restarts, sequences: Array.from({ length: COPIES }, () => sequence) }
    const [failure] = Date.now() > until ? [] : await play(smaller, options)
    if (failure !== undefined) smallest = { scenario: smaller, failure }
    return failure === undefined
  }
  const sequence = scenario.sequences[guilty] ?? []
  const restarts = scenario.restarts.length > 0 && !(await holds(sequence, [])) ? [] : scenario.restarts
  // The path makes fast-check begin with exactly that sequence.
  const property = fc.asyncProperty(anySequence, (smaller) => holds(smaller, restarts))
  await fc.check(property, {
    seed,
    path: String(guilty),
    numRuns: guilty + 1,
    interruptAfterTimeLimit: options.shrinkMs,
  })
  return smallest
}

/** Finds the sequence that made the server fail: half of the suspected ones are played again and again. */
async function findGuilty(
  options: Search,
  { restarts, sequences }: Scenario,
  until: number,
): Promise<number | undefined> {
  let suspects = sequences.map((_, at) => at)
  while (suspects.length > 1 && Date.now() < until) {
    const half = suspects.slice(0, suspects.length / 2)
    const failures = await play({ restarts, sequences: half.map((at) => sequences[at] ?? []) }, options)
    suspects = failures.length > 0 ? half : suspects.slice(suspects.length / 2)
  }
  return suspects.length === 1 ? suspects[0] : undefined
}
