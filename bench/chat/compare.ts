import { LoadClient, median } from '../harness/load.ts'
import { goalOf, load, print, spread } from '../harness/report.ts'
import type { Side, SideName } from './sides.ts'

/** The figures of a round, by the names under which they are printed. */
export type Figures = Readonly<Record<string, number>>

/** Something that all sides are requested to do. */
export interface ChatCase {
  readonly name: string
  readonly connections: number
  /** Absent: all sides. */
  readonly sides?: readonly SideName[]
  /** Name of a time from which a further figure is computed: what a side adds to the upstream's own. */
  readonly added?: string
  readonly goals: readonly Goal[]
  round(side: Side, client: LoadClient): Promise<Figures>
}

/** The maximum for a figure of Portico, as a multiple of another side's. */
export interface Goal {
  readonly figure: string
  readonly beside: SideName
  readonly least?: number
  readonly most?: number
}

/** What is added to the upstream's own figure. */
export const addedOf = (figure: string): string => `added ${figure}`

/** A side, and the figures of its rounds. */
interface Run {
  readonly side: Side
  readonly client: LoadClient
  readonly kept: Figures[]
}

/** Runs a case on alternating sides, after a round that does not count, and prints medians, scatter and goals. */
export async function compare(each: ChatCase, all: readonly Side[], rounds: number): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const sides = all.filter(({ name }) => each.sides?.includes(name) ?? true)
  const runs = sides.map((side): Run => {
    return { side, client: stack.use(new LoadClient(side.server.url, each.connections)), kept: [] }
  })
  for (const { side, client } of runs) await each.round(side, client)
  for (let n = 0; n < rounds; n++) {
    const measured = new Map<SideName, Figures>()
    // The order changes, so that what one side leaves behind does not always affect the same one.
    for (const { side, client } of n % 2 === 0 ? runs : runs.toReversed()) {
      measured.set(side.name, await each.round(side, client))
    }
    const upstream = measured.get('upstream') ?? {}
    for (const { side, kept } of runs) {
      const figures = measured.get(side.name) ?? {}
      kept.push(side.name === 'upstream' ? figures : { ...figures, ...addedTo(upstream, figures, each.added) })
    }
  }
  print(`\n${each.name}, load average ${load()}`)
  printFigures(runs)
  for (const goal of each.goals) printGoal(runs, goal)
}

function addedTo(upstream: Figures, figures: Figures, name: string | undefined): Figures {
  return name === undefined ? {} : { [addedOf(name)]: (figures[name] ?? Number.NaN) - (upstream[name] ?? Number.NaN) }
}

function printFigures(runs: readonly Run[]): void {
  const names = Object.keys(runs.at(-1)?.kept[0] ?? {})
  print(`${''.padEnd(18)}${names.map((name) => name.padStart(28)).join('')}`)
  for (const { side, kept } of runs) {
    const cells = names.map((name) => (kept[0]?.[name] === undefined ? '' : spread(valuesOf(kept, name))))
    print(`  ${side.name.padEnd(16)}${cells.map((cell) => cell.padStart(28)).join('')}`)
  }
}

function printGoal(runs: readonly Run[], { figure, beside, least = 0, most = Number.POSITIVE_INFINITY }: Goal): void {
  const of = (name: SideName): number => {
    return median(valuesOf(runs.find(({ side }) => side.name === name)?.kept ?? [], figure))
  }
  const ratio = of('Portico') / of(beside)
  const goal = least > 0 ? `at least ${least}` : `at most ${Number(most.toFixed(2))}`
  print(`  ${figure}: ${ratio.toFixed(2)} of ${beside}'s${goalOf(ratio >= least && ratio <= most, goal)}`)
}

function valuesOf(kept: readonly Figures[], name: string): number[] {
  return kept.map((figures) => figures[name] ?? Number.NaN)
}
