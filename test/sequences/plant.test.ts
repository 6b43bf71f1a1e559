import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Plant, planted } from './plant.ts'
import { play } from './play.ts'
import type { Sequence, ToolKind } from './step.ts'

const prompt = (delivery: 'steer' | 'queue', ...tools: ToolKind[]) =>
  ({ do: 'prompt', work: { kind: 'tools', tools }, delivery, parked: false, minted: false }) as const
const step = { do: 'look', at: 'step' } as const
const interrupt = { do: 'interrupt' } as const
const again = { do: 'repeat', back: 1, other: false, parked: false } as const
const reject = { do: 'reply', answer: 'reject' } as const

interface Planted extends Plant {
  readonly title: string
  /** What a client does that finds it. */
  readonly does: readonly Omit<Sequence[number], 'pause' | 'ahead'>[]
  readonly problem: RegExp
}

const LOST = /was accepted and does not run, though the session is idle/
const lostWake = {
  file: 'services/session/domain/run.ts',
  from: 'running: false, interruptRequested: false,',
  to: "running: false, interruptRequested: false, due: revision.state.due && outcome !== 'interrupted',",
  problem: LOST,
}

const PLANTS: readonly Planted[] = [
  {
    title: 'the end of an interrupted run forgets who woke the session meanwhile',
    ...lostWake,
    does: [prompt('steer', 'endless'), step, interrupt, prompt('steer', 'quick')],
  },
  {
    title: 'so does the end of a run whose call was rejected',
    ...lostWake,
    does: [prompt('steer', 'asking', 'brief'), step, reject, prompt('queue', 'quick')],
  },
  {
    title: 'a repeat of a prompt wakes nobody',
    file: 'services/session/domain/inbox/inputs.ts',
    from: 'if (wakes) wake(revision)',
    to: 'if (wakes && taken === undefined) wake(revision)',
    does: [prompt('steer', 'endless'), step, prompt('queue', 'quick'), interrupt, again],
    problem: LOST,
  },
  {
    title: 'a queued prompt joins a run that goes on',
    file: 'services/session/domain/inbox/promotion.ts',
    from: "boundary === 'idle' ? candidates.find",
    to: 'true ? candidates.find',
    does: [prompt('steer', 'brief'), step, prompt('queue', 'quick')],
    problem: /\(queue\) joined a run that went on/,
  },
]

/** So often a fault may hide. */
const ROUNDS = 10

for (const { title, does, problem, ...plant } of PLANTS) {
  test(`sequences find a planted fault: ${title}`, async () => {
    const sequence = does.map((one) => ({ ...one, pause: 0, ahead: false })) as Sequence
    // A few at once, and again: which of two things is first may be a matter of luck.
    const sequences = Array.from({ length: 6 }, () => sequence)
    const problems: string[] = []
    for (let round = 0; round < ROUNDS && !problems.some((found) => problem.test(found)); round++) {
      const failures = await play({ restarts: [], sequences }, { environment: planted(plant) })
      problems.push(...failures.map((failure) => failure.problems[0] ?? ''))
    }
    assert.ok(
      problems.some((found) => problem.test(found)),
      `found: ${JSON.stringify(problems)}`,
    )
  })
}
