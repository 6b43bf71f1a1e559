import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planted } from './plant.ts'
import type { Planted } from './plants.ts'
import { play } from './play.ts'
import type { Sequence } from './step.ts'

/** How often a fault may stay hidden. */
const ROUNDS = 10

/** Tests that the judges find a fault. */
export function testPlanted({ title, does, problem, ...plant }: Planted): void {
  test(`sequences find a planted fault: ${title}`, async () => {
    const sequence = does.map((one) => ({ pause: 0, ...one, ahead: false })) as Sequence
    // A few at once, and again: which of two things comes first may be a matter of luck.
    const sequences = Array.from({ length: 6 }, () => sequence)
    const problems: string[] = []
    for (let round = 0; round < ROUNDS && !problems.some((found) => problem.test(found)); round++) {
      const failures = await play({ restarts: [], sequences }, { environment: planted(plant) })
      problems.push(...failures.flatMap((failure) => failure.problems.slice(0, 3)))
    }
    assert.ok(
      problems.some((found) => problem.test(found)),
      `found: ${JSON.stringify(problems).slice(0, 4_000)}`,
    )
  })
}
