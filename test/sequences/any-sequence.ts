import fc from 'fast-check'
import type { Action, Restart, Sequence, Step, ToolKind, Work } from './step.ts'

const tool = fc.oneof(
  { weight: 4, arbitrary: fc.constant<ToolKind>('quick') },
  { weight: 3, arbitrary: fc.constantFrom<ToolKind>('brief', 'failing', 'denied') },
  { weight: 4, arbitrary: fc.constantFrom<ToolKind>('printing', 'always') },
  { weight: 3, arbitrary: fc.constant<ToolKind>('asking') },
  { weight: 2, arbitrary: fc.constant<ToolKind>('endless') },
  { weight: 3, arbitrary: fc.constantFrom<ToolKind>('note', 'server') },
  { weight: 2, arbitrary: fc.constantFrom<ToolKind>('throw', 'loop', 'exit', 'dying') },
)

const brief: fc.Arbitrary<Work> = fc.record({
  kind: fc.constant('words'),
  count: fc.integer({ min: 1, max: 12 }),
  slowMs: fc.constantFrom(0, 3, 25),
})
/** It takes a minute. */
const slow: fc.Arbitrary<Work> = fc.constant({ kind: 'words', count: 60, slowMs: 1_000 })

const long: fc.Arbitrary<Work> = fc.record({
  kind: fc.constant('long'),
  count: fc.constantFrom(10, 500, 900, 900, 1_500),
  // With what was said before: nothing, too much for a request, or too much in any case.
  asked: fc.constantFrom(0, 0, 0, 1_500, 2_500),
})

const work: fc.Arbitrary<Work> = fc.oneof(
  { weight: 5, arbitrary: brief },
  { weight: 1, arbitrary: fc.constant({ kind: 'look' }) },
  // A busy provider is retried for half a minute.
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
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('task'),
      count: fc.integer({ min: 1, max: 12 }),
      slowMs: fc.constantFrom(0, 3, 25),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({ kind: fc.constant('tools'), tools: fc.array(tool, { minLength: 1, maxLength: 3 }) }),
  },
)

const using = (...tools: ToolKind[]): fc.Arbitrary<Work> => fc.constant({ kind: 'tools', tools })

const as = <T extends string>(what: T) => fc.constant(what)
const delivery = fc.constantFrom('steer', 'queue')
const rarely = fc.constantFrom(false, false, false, false, true)
const prompt = (does: fc.Arbitrary<Work>) =>
  fc.record({ do: as('prompt'), work: does, delivery, parked: rarely, minted: rarely })
const reply = fc.record({ do: as('reply'), answer: fc.constantFrom('once', 'always', 'reject', 'correct') })
const interrupt = fc.record({ do: as('interrupt'), resume: fc.constantFrom(false, false, true) })
const resume = fc.record({ do: as('resume'), ms: fc.constantFrom(100, 600) })
const move = fc.record({ do: as('move'), to: fc.constantFrom('home', 'deep', 'away', 'away', 'missing'), delivery })
const update = fc.record({
  do: as('update'),
  title: fc.constantFrom(undefined, 'own', 'own', 'found'),
  metadata: fc.boolean(),
  rules: fc.constantFrom(undefined, undefined, 'strict', 'open', 'shut'),
})
const fork = fc.record({ do: as('fork'), before: fc.oneof(fc.constant(undefined), fc.nat(9), as('unknown')) })
const transfer = fc.constant({ do: 'transfer' })
const child = (does: fc.Arbitrary<Work>) => fc.record({ do: as('child'), deep: fc.boolean(), work: does })

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 10, arbitrary: prompt(work) },
  { weight: 2, arbitrary: fc.record({ do: as('synthetic'), work, delivery, parked: rarely }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: as('repeat'), back: fc.nat(3), other: fc.boolean(), parked: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: as('cancel'), back: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: as('redeliver'),
      back: fc.nat(3),
      delivery: fc.constantFrom('steer', 'steer', 'queue'),
    }),
  },
  { weight: 3, arbitrary: move },
  { weight: 2, arbitrary: fc.constant({ do: 'compact' }) },
  { weight: 4, arbitrary: interrupt },
  { weight: 2, arbitrary: resume },
  { weight: 2, arbitrary: fc.record({ do: as('wait'), ms: fc.constantFrom(100, 600) }) },
  { weight: 2, arbitrary: reply },
  { weight: 1, arbitrary: fc.constantFrom({ do: 'forget' }, { do: 'reload' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: as('agent'),
      agent: fc.constantFrom('build', 'general', 'build', 'general', 'nobody'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: as('model'), model: fc.constantFrom('echo', 'echo', 'echo-small', 'nothing') }),
  },
  { weight: 4, arbitrary: update },
  { weight: 3, arbitrary: fc.constantFrom({ do: 'view' }, { do: 'transfer' }, { do: 'transfer' }) },
  { weight: 4, arbitrary: fork },
  { weight: 1, arbitrary: child(fc.oneof(brief, using('quick'))) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: as('look'),
      at: fc.oneof(
        fc.constantFrom('session', 'sessions', 'messages', 'active', 'permissions', 'create'),
        fc.constantFrom('inbox', 'inbox', 'typed', 'log', 'extensions'),
      ),
    }),
  },
) as fc.Arbitrary<Action>

const timing = fc.record({
  pause: fc.constantFrom(0, 0, 0, 5, 30, 120, 350),
  ahead: fc.constantFrom(false, false, true),
})

/** Steps that should meet more often than chance would have it. */
const pair: fc.Arbitrary<readonly Action[]> = fc.oneof(
  fc.tuple(prompt(fc.oneof(using('asking'), using('always', 'asking'), using('quick', 'asking'))), reply),
  fc.tuple(
    prompt(using('always')),
    fc.constant({ do: 'reply', answer: 'always' }),
    fc.oneof(fc.constant({ do: 'forget' }), prompt(using('always'))),
  ),
  fc.tuple(prompt(fc.oneof(using('endless'), using('printing', 'endless'))), interrupt),
  fc.tuple(interrupt, prompt(work)),
  fc.tuple(reply, prompt(work)),
  fc.tuple(interrupt, resume),
  fc.tuple(prompt(brief), fc.constant({ do: 'compact' }), fc.oneof(interrupt, prompt(brief), resume, fork)),
  fc.tuple(prompt(fc.oneof(using('asking'), using('throw'), using('note', 'server'))), fc.constant({ do: 'reload' })),
  fc.tuple(prompt(work), fc.oneof(fork, transfer, move, update)),
  fc.tuple(prompt(brief), fc.constant({ do: 'wait', ms: 600 }), fc.oneof(fork, transfer, child(brief))),
) as fc.Arbitrary<readonly Action[]>

const steps = (minLength: number, maxLength: number): fc.Arbitrary<Sequence> =>
  fc
    .array(
      fc.oneof(
        { weight: 2, arbitrary: fc.tuple(action, timing).map(([does, when]): Sequence => [{ ...does, ...when }]) },
        {
          weight: 1,
          arbitrary: fc
            .tuple(pair, timing, timing, timing)
            .map(([does, ...when]): Sequence => does.map((one, i) => ({ ...one, ...when[i] }) as Step)),
        },
      ),
      { minLength, maxLength, size: 'max' },
    )
    .map((parts) => parts.flat())

/** The last input again: it wakes the session, whatever happened to the input. */
const REPEAT = { do: 'repeat', back: 0, other: false, parked: false }
const soon = fc
  .tuple(prompt(fc.oneof(brief, using('quick'), using('failing', 'brief'))), fc.boolean())
  .map(([sent, again]) => (again ? [{ ...sent, parked: true, minted: false }, REPEAT] : [{ ...sent, parked: false }]))
/**
 * A run that is ended while it works, followed at once by something that wakes the session. Nothing else wakes it after
 * that.
 */
const ending: fc.Arbitrary<Sequence> = fc
  .tuple(
    fc.oneof(
      fc.tuple(prompt(fc.oneof(using('endless'), using('printing', 'endless'), slow)), interrupt),
      fc.tuple(prompt(using('asking', 'brief')), fc.constant({ do: 'reply', answer: 'reject' })),
    ),
    fc.constantFrom(0, 0, 5, 30),
    fc.oneof(
      { weight: 3, arbitrary: soon },
      { weight: 1, arbitrary: fc.constant([REPEAT]) },
      { weight: 1, arbitrary: resume.map((one) => [one]) },
    ),
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

/** Sessions below the session that work, its removal, and the actions of a client that has not noticed. */
const removal: fc.Arbitrary<Sequence> = fc
  .tuple(
    fc.array(fc.tuple(child(fc.oneof(using('endless'), using('quick'), using('asking'), brief)), timing), {
      maxLength: 2,
    }),
    fc.tuple(prompt(fc.oneof(using('endless'), using('asking'), slow, brief)), timing),
    fc.constantFrom(0, 0, 5, 30, 120),
    fc.array(fc.tuple(fc.oneof(action, child(brief) as fc.Arbitrary<Action>), timing), { maxLength: 3 }),
    fc.boolean(),
  )
  .map(
    ([children, [begins, when], pause, after, ahead]) =>
      [
        ...children.map(([one, time]) => ({ ...one, ...time })),
        { ...begins, ...when },
        { do: 'remove', pause, ahead },
        ...after.map(([one, time]) => ({ ...one, ...time })),
      ] as Sequence,
  )

/** A conversation that outgrows its model: by what was said, by what is requested, by what tools print. */
const outgrowing: fc.Arbitrary<Sequence> = fc
  .tuple(
    steps(0, 3),
    fc.array(
      fc.tuple(
        fc.oneof(
          { weight: 6, arbitrary: prompt(long) },
          { weight: 1, arbitrary: prompt(fc.oneof(using('printing'), using('quick', 'printing'), brief)) },
          { weight: 2, arbitrary: fc.oneof(fc.constant({ do: 'compact' }), interrupt, resume, fork, transfer) },
          { weight: 1, arbitrary: fc.record({ do: as('model'), model: fc.constantFrom('echo', 'echo-small') }) },
        ) as fc.Arbitrary<Action>,
        timing,
      ),
      { minLength: 2, maxLength: 7, size: 'max' },
    ),
    steps(0, 2),
  )
  .map(([begin, talk, end]) => [
    ...begin,
    { do: 'model', model: 'echo-small', pause: 0, ahead: false },
    ...talk.map(([does, when]) => ({ ...does, ...when })),
    ...end,
  ])

/** Sequences of up to two dozen steps, the last of which may wake a session whose run was ended, or remove it. */
export const anySequence: fc.Arbitrary<Sequence> = fc.oneof(
  { weight: 4, arbitrary: steps(2, 12) },
  { weight: 4, arbitrary: fc.tuple(steps(0, 5), ending).map(([begin, end]) => [...begin, ...end]) },
  { weight: 2, arbitrary: outgrowing },
  { weight: 2, arbitrary: fc.tuple(steps(0, 4), removal).map(([begin, end]) => [...begin, ...end]) },
)

/** None to two restarts in the first seconds. */
export const anyRestarts: fc.Arbitrary<readonly Restart[]> = fc.array(
  fc.record({ at: fc.integer({ min: 50, max: 2_500 }), how: fc.constantFrom('kill', 'kill', 'stop') }),
  { maxLength: 2 },
)

/** Kills, one after the other. */
export const anyKills: fc.Arbitrary<readonly Restart[]> = fc.array(
  fc.record({ at: fc.integer({ min: 50, max: 6_000 }), how: fc.constant('kill') }),
  { minLength: 2, maxLength: 4 },
)
