import fc from 'fast-check'

/** What a tool call of a prompt does; each leaves one line in the file of its sequence, if it runs. */
export type ToolKind = 'quick' | 'brief' | 'failing' | 'printing' | 'endless' | 'asking' | 'always' | 'denied'

/** What a prompt makes the built-in model do. */
export type Work =
  | { readonly kind: 'look' }
  | { readonly kind: 'words'; readonly count: number; readonly slowMs: number }
  | { readonly kind: 'fail'; readonly status: number; readonly after: number }
  | { readonly kind: 'tools'; readonly tools: readonly ToolKind[] }

export type Delivery = 'steer' | 'queue'
export type Answer = 'once' | 'always' | 'reject' | 'correct'
/** `step`: until one has begun. */
export type Look = 'session' | 'sessions' | 'messages' | 'active' | 'permissions' | 'create' | 'inbox' | 'step'

type Action =
  | {
      readonly do: 'prompt'
      readonly work: Work
      readonly delivery: Delivery
      readonly parked: boolean
      /** The server makes the id. */
      readonly minted: boolean
    }
  /** Sends a former prompt's id again: the same content, or another. */
  | { readonly do: 'repeat'; readonly back: number; readonly other: boolean; readonly parked: boolean }
  /** Takes a former prompt out of the inbox, if it waits; or changes its delivery. */
  | { readonly do: 'cancel'; readonly back: number }
  | { readonly do: 'redeliver'; readonly back: number; readonly delivery: Delivery }
  | { readonly do: 'interrupt' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'reply'; readonly answer: Answer }
  | { readonly do: 'agent'; readonly agent: string }
  | { readonly do: 'model'; readonly model: string }
  | { readonly do: 'look'; readonly at: Look }
  /** Waits for every answer that is open. */
  | { readonly do: 'join' }

/** One thing that a client does. `pause`: milliseconds before it; `ahead`: the next step does not wait for its answer. */
export type Step = Action & { readonly pause: number; readonly ahead: boolean }

/** What one client does in one session. */
export type Sequence = readonly Step[]

/** Ends the server in the middle and starts it again. */
export interface Restart {
  /** Milliseconds after the start. */
  readonly at: number
  readonly how: 'kill' | 'stop'
}

/** A sequence, or several at once, and what happens to the server meanwhile. */
export interface Scenario {
  readonly restarts: readonly Restart[]
  readonly sequences: readonly Sequence[]
}

/** Work that ends only when it is interrupted, or after a time that no test should wait for. */
export function isLong(work: Work): boolean {
  if (work.kind === 'words') return work.count * work.slowMs > 5_000
  if (work.kind === 'fail') return work.status !== 400
  return work.kind === 'tools' && work.tools.includes('endless')
}

const tool = fc.oneof(
  { weight: 4, arbitrary: fc.constant<ToolKind>('quick') },
  { weight: 3, arbitrary: fc.constantFrom<ToolKind>('brief', 'failing', 'denied') },
  { weight: 4, arbitrary: fc.constantFrom<ToolKind>('printing', 'always') },
  { weight: 3, arbitrary: fc.constant<ToolKind>('asking') },
  { weight: 2, arbitrary: fc.constant<ToolKind>('endless') },
)

const brief: fc.Arbitrary<Work> = fc.record({
  kind: fc.constant('words'),
  count: fc.integer({ min: 1, max: 12 }),
  slowMs: fc.constantFrom(0, 3, 25),
})
/** It takes a minute. */
const slow: fc.Arbitrary<Work> = fc.constant({ kind: 'words', count: 60, slowMs: 1_000 })

const work: fc.Arbitrary<Work> = fc.oneof(
  { weight: 5, arbitrary: brief },
  { weight: 1, arbitrary: fc.constant({ kind: 'look' }) },
  // A provider that is busy is asked for half a minute.
  { weight: 1, arbitrary: slow },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('fail'),
      status: fc.constantFrom(400, 400, 400, 503),
      after: fc.constantFrom(0, 2),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({ kind: fc.constant('tools'), tools: fc.array(tool, { minLength: 1, maxLength: 3 }) }),
  },
)

const prompt = (does: fc.Arbitrary<Work>) =>
  fc.record({
    do: fc.constant('prompt'),
    work: does,
    delivery: fc.constantFrom('steer', 'queue'),
    parked: fc.constantFrom(false, false, false, false, true),
    minted: fc.constantFrom(false, false, false, false, true),
  })
const reply = fc.record({ do: fc.constant('reply'), answer: fc.constantFrom('once', 'always', 'reject', 'correct') })
const interrupt = fc.constant({ do: 'interrupt' })

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 10, arbitrary: prompt(work) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('repeat'), back: fc.nat(3), other: fc.boolean(), parked: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel'), back: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('redeliver'),
      back: fc.nat(3),
      delivery: fc.constantFrom('steer', 'steer', 'queue'),
    }),
  },
  { weight: 4, arbitrary: interrupt },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.constantFrom(100, 600) }) },
  { weight: 2, arbitrary: reply },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('agent'),
      agent: fc.constantFrom('build', 'general', 'build', 'general', 'nobody'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('model'), model: fc.constantFrom('echo', 'echo', 'echo', 'nothing') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('look'),
      at: fc.constantFrom('session', 'sessions', 'messages', 'active', 'permissions', 'create', 'inbox'),
    }),
  },
) as fc.Arbitrary<Action>

const timing = fc.record({
  pause: fc.constantFrom(0, 0, 0, 5, 30, 120, 350),
  ahead: fc.constantFrom(false, false, true),
})

const using = (...tools: ToolKind[]): fc.Arbitrary<Work> => fc.constant({ kind: 'tools', tools })
/** Steps that meet more often than chance would have it. */
const pair: fc.Arbitrary<readonly Action[]> = fc.oneof(
  fc.tuple(prompt(fc.oneof(using('asking'), using('always', 'asking'), using('quick', 'asking'))), reply),
  fc.tuple(prompt(fc.oneof(using('endless'), using('printing', 'endless'))), interrupt),
  fc.tuple(interrupt, prompt(work)),
  fc.tuple(reply, prompt(work)),
) as fc.Arbitrary<readonly Action[]>

const steps = (minLength: number, maxLength: number): fc.Arbitrary<Sequence> =>
  fc
    .array(
      fc.oneof(
        { weight: 2, arbitrary: fc.tuple(action, timing).map(([does, when]): Sequence => [{ ...does, ...when }]) },
        {
          weight: 1,
          arbitrary: fc
            .tuple(pair, timing, timing)
            .map(([does, ...when]): Sequence => does.map((one, i) => ({ ...one, ...when[i] }) as Step)),
        },
      ),
      { minLength, maxLength, size: 'max' },
    )
    .map((parts) => parts.flat())

/** The last prompt again: it wakes the session, whatever became of it. */
const REPEAT = { do: 'repeat', back: 0, other: false, parked: false }
const soon = fc
  .tuple(prompt(fc.oneof(brief, using('quick'), using('failing', 'brief'))), fc.boolean())
  .map(([sent, again]) => (again ? [{ ...sent, parked: true, minted: false }, REPEAT] : [{ ...sent, parked: false }]))
/** A run that is ended while it works, and at once something that wakes the session. Nothing else wakes it after that. */
const ending: fc.Arbitrary<Sequence> = fc
  .tuple(
    fc.oneof(
      fc.tuple(prompt(fc.oneof(using('endless'), using('printing', 'endless'), slow)), interrupt),
      fc.tuple(prompt(using('asking', 'brief')), fc.constant({ do: 'reply', answer: 'reject' })),
    ),
    fc.constantFrom(0, 0, 5, 30),
    fc.oneof({ weight: 3, arbitrary: soon }, { weight: 1, arbitrary: fc.constant([REPEAT]) }),
  )
  .map(([[begins, ends], pause, wakes]) => {
    const now = { pause: 0, ahead: false }
    const before = [{ do: 'join' }, { ...begins, parked: false }, { do: 'look', at: 'step' }]
    return [
      ...before.map((one) => ({ ...one, ...now })),
      { ...ends, ...now, pause },
      ...wakes.map((one) => ({ ...one, ...now })),
    ] as Sequence
  })

/** Sequences of up to two dozen steps, the last of which in every other one wake a session whose run was ended. */
export const anySequence: fc.Arbitrary<Sequence> = fc.oneof(
  steps(2, 12),
  fc.tuple(steps(0, 5), ending).map(([begin, end]) => [...begin, ...end]),
)

/** None to two restarts in the first seconds. */
export const anyRestarts: fc.Arbitrary<readonly Restart[]> = fc.array(
  fc.record({ at: fc.integer({ min: 50, max: 2_500 }), how: fc.constantFrom('kill', 'kill', 'stop') }),
  { maxLength: 2 },
)
