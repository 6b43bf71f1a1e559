import { setTimeout as sleep } from 'node:timers/promises'
import type { Asked } from './asked.ts'
import { Client } from './client.ts'
import { drive } from './drive.ts'
import { gather } from './gather.ts'
import { interrupt } from './inputs.ts'
import type { Evidence } from './judge/evidence.ts'
import { judge } from './judge/judge.ts'
import { judgeRemoval } from './judge/removal.ts'
import { addTotals, judgeStats, noTotals, type Totals } from './judge/totals.ts'
import { settleChildren, settleOffspring, settleRemoval } from './made.ts'
import type { SessionClient } from './session-client.ts'
import { settle } from './settle.ts'
import type { Restart, Scenario, Sequence } from './step.ts'
import { storyOf } from './story.ts'
import { openWorld, type World, type WorldSetting } from './world.ts'

/** A sequence that fails, and why. */
export interface Failure {
  /** Its place in the scenario; undefined: the server itself failed. */
  readonly at: number | undefined
  readonly problems: readonly string[]
}

/** What was played, by kind. */
export type Tally = Record<string, number>

function count(tally: Tally, name: string, times = 1): void {
  tally[name] = (tally[name] ?? 0) + times
}

let serial = 0

/**
 * Plays all sequences of a scenario at once, each in a session of its own, on one server, and adds to the tally what
 * was played.
 */
export async function play(
  { restarts, sequences }: Scenario,
  setting: WorldSetting,
  tally: Tally = {},
): Promise<Failure[]> {
  const failures: Failure[] = []
  const world = await openWorld(setting)
  const totals = noTotals()
  const removed: string[] = []
  try {
    const over = new AbortController()
    const disturbing = disturb(world, restarts, tally, over.signal)
    const all = sequences.map(async (sequence, at) => {
      const problems = await playOne(world, sequence, tally, totals, removed)
      if (problems.length > 0) failures.push({ at, problems })
    })
    await Promise.all(all)
    over.abort()
    await disturbing
    world.problems.push(...removed.flatMap((id) => judgeRemoval(id, world.follower.of(id))))
    if (failures.length === 0) world.problems.push(...(await judgeTotals(world, totals)))
  } finally {
    await world[Symbol.asyncDispose]()
  }
  const problems = [...world.problems, ...world.follower.problems]
  // A frozen server takes every sequence with it; only the server is to blame.
  if (world.dead) return [{ at: undefined, problems }]
  return problems.length === 0 ? failures : [...failures, { at: undefined, problems }]
}

async function disturb(world: World, restarts: readonly Restart[], tally: Tally, signal: AbortSignal): Promise<void> {
  const begun = Date.now()
  for (const { at, how } of [...restarts].sort((a, b) => a.at - b.at)) {
    await sleep(Math.max(0, begun + at - Date.now()), undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    count(tally, how === 'kill' ? 'kills' : 'restarts')
    await world.restart(how)
  }
}

/** Checks the statistics of the workspace against everything that was played in it. */
async function judgeTotals(world: World, totals: Totals): Promise<string[]> {
  const problems: string[] = []
  const client = new Client(world, problems)
  const { body } = await client.insist('GET', '/api/experimental/session/stats?tools=detail')
  const { data } = (body ?? {}) as { data?: unknown }
  return data === undefined ? problems : judgeStats(data, totals)
}

/** Plays one sequence to its end; returns what is wrong with it. */
async function playOne(
  world: World,
  sequence: Sequence,
  tally: Tally,
  totals: Totals,
  removed: string[],
): Promise<string[]> {
  const sessionId = `ses_${process.pid}x${serial++}`
  const session = await drive(world, sequence, sessionId)
  const { history } = session
  if (history.removal !== undefined) {
    removed.push(...(await settleRemoval(session, world.follower)))
    await settleOffspring(session, totals)
    count(tally, 'sequences')
    count(tally, 'removed', session.children.length + 1)
    countMade(tally, session)
    return history.problems
  }
  const messages = await settle(session)
  if (history.problems.length > 0) {
    return [...history.problems, storyOf({ history, events: world.follower.of(sessionId) })]
  }
  await settleChildren(session, totals)
  const evidence = await gather(session, world, messages)
  if (evidence === undefined) return [...history.problems, `${sessionId} does not come to rest`]
  const problems = judge(evidence)
  addTotals(totals, messages, false)
  await settleOffspring(session, totals)
  tallyUp(tally, evidence)
  countMade(tally, session)
  // A request without an answer may still wake it.
  const isWoken = history.wakes.some(({ status }) => status === undefined)
  if ((await interrupt(session)) && !isWoken)
    problems.push('an interrupt is said to have ended something in an idle session')
  world.follower.forget(sessionId)
  const found = [...history.problems, ...problems]
  return found.length === 0 ? [] : [...found.slice(0, 8), storyOf(evidence)]
}

function countMade(tally: Tally, { children, history }: SessionClient): void {
  const { copies, moves, updates, resumes } = history
  const done = (all: readonly { readonly asked: Asked }[]) => all.filter(({ asked }) => asked.status === 204).length
  count(tally, 'children', children.length)
  for (const { kind } of copies) count(tally, `${kind}s`)
  count(tally, 'moves', done(moves))
  count(tally, 'updates', done(updates))
  count(tally, 'resumes', resumes.length)
}

function tallyUp(tally: Tally, { history, messages, lines }: Evidence): void {
  const { inputs, interrupts, replies, reloads, waits, woken } = history
  const counts = {
    sequences: 1,
    inputs: inputs.filter(({ accepted }) => accepted).length,
    interrupts: interrupts.length,
    replies: replies.filter(({ asked }) => asked.status === 204).length,
    waits: waits.length,
    'held to run after an end': woken ? 1 : 0,
    'calls run': lines.length,
    reloads: reloads.filter(({ status }) => status === 204).length,
  }
  for (const [name, times] of Object.entries(counts)) count(tally, name, times)
  for (const { type, outcome } of messages) if (type === 'idle') count(tally, `runs ${outcome}`)
  for (const { type, status, error, reason } of messages) {
    if (type === 'compaction') count(tally, `compactions ${reason} ${error?.type ?? status}`)
    if (error?.type === 'context.overflow') count(tally, 'overflows')
  }
  for (const { content = [] } of messages)
    for (const { name, state } of content) {
      if (state?.error !== undefined) count(tally, `calls ${state.error.type}`)
      if (name === 'note' || name === 'server_wait') count(tally, `calls of ${name} ${state?.status}`)
    }
}
