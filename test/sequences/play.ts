import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { drive } from './drive.ts'
import type { Asked } from './history.ts'
import { type Evidence, judge } from './judge.ts'
import { settle } from './settle.ts'
import type { Restart, Scenario, Sequence } from './step.ts'
import { openWorld, type World, type WorldSetting } from './world.ts'

/** A sequence that does not hold, and why. */
export interface Failure {
  /** Its place in the scenario; undefined: the server itself did not hold. */
  readonly at: number | undefined
  readonly problems: readonly string[]
}

/** What was played, by what it is. */
export type Tally = Record<string, number>

function count(tally: Tally, name: string, times = 1): void {
  tally[name] = (tally[name] ?? 0) + times
}

let serial = 0

/**
 * Plays all sequences of a scenario at once, each in a session of its own, on one server, and adds to the tally what was
 * played.
 */
export async function play(
  { restarts, sequences }: Scenario,
  setting: WorldSetting,
  tally: Tally = {},
): Promise<Failure[]> {
  const failures: Failure[] = []
  const world = await openWorld(setting)
  try {
    const over = new AbortController()
    const disturbing = disturb(world, restarts, tally, over.signal)
    const all = sequences.map(async (sequence, at) => {
      const problems = await playOne(world, sequence, tally)
      if (problems.length > 0) failures.push({ at, problems })
    })
    await Promise.all(all)
    over.abort()
    await disturbing
  } finally {
    await world[Symbol.asyncDispose]()
  }
  const problems = [...world.problems, ...world.follower.problems]
  // A server that froze takes every sequence with it; only it is to blame.
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

/** Plays one sequence to its end; answers what is wrong with it. */
async function playOne(world: World, sequence: Sequence, tally: Tally): Promise<string[]> {
  const sessionId = `ses_${process.pid}x${serial++}`
  const driver = await drive(world, sequence, sessionId)
  const { history } = driver
  const messages = await settle(driver)
  if (history.problems.length > 0) return history.problems
  const runs = messages.filter(({ type }) => type === 'idle').length
  const ended = () =>
    world.follower.of(sessionId).filter(({ type }) => /execution\.(succ|fail|inter)/.test(type)).length
  for (const since = Date.now(); ended() < runs && Date.now() - since < 20_000; ) await sleep(20)
  const evidence = {
    history,
    messages,
    events: world.follower.of(sessionId),
    lines: linesOf(history.calls),
    takenOver: world.takenOver,
  }
  const problems = judge(evidence)
  tallyUp(tally, evidence)
  if (await driver.interrupt()) problems.push('an interrupt is said to have ended something in an idle session')
  world.follower.forget(sessionId)
  const found = [...history.problems, ...problems]
  return found.length === 0 ? [] : [...found.slice(0, 8), storyOf(evidence)]
}

/** What was asked and what happened, by time: milliseconds since the first request. */
function storyOf({ history, events }: Evidence): string {
  const { prompts, wakes, interrupts, replies, waits } = history
  const asked = (what: string, { sent, answered, status }: Asked) => ({
    at: sent,
    line: `${what} → ${status} after ${answered - sent}`,
  })
  const lines = [
    ...prompts.map((prompt) =>
      asked(`prompt ${prompt.id} ${prompt.delivery}${wakes.includes(prompt.asked) ? '' : ' parked'}`, prompt.asked),
    ),
    ...wakes.filter((wake) => !prompts.some((prompt) => prompt.asked === wake)).map((wake) => asked('repeat', wake)),
    ...interrupts.map((interrupt) => asked('interrupt', interrupt)),
    ...replies.map((reply) => asked(`reply ${reply.answer}`, reply.asked)),
    ...waits.map((wait) => asked('wait', wait)),
    ...events
      .filter(({ type }) => /inbox|execution|step\.(started|failed|ended)|permission/.test(type))
      .map(({ type, created, durable, data }) => ({
        at: created,
        line: `  ${durable.seq} ${type} ${data.inboxID ?? ''}`,
      })),
  ].sort((a, b) => a.at - b.at)
  return lines.map(({ at, line }) => `${at - (lines[0]?.at ?? 0)}: ${line}`).join('\n      ')
}

function tallyUp(tally: Tally, { history, messages, lines }: Evidence): void {
  const { prompts, interrupts, replies, waits, woken } = history
  const counts = {
    sequences: 1,
    prompts: prompts.filter(({ accepted }) => accepted).length,
    interrupts: interrupts.length,
    replies: replies.filter(({ asked }) => asked.status === 204).length,
    waits: waits.length,
    'held to run after an end': woken ? 1 : 0,
    'commands run': lines.length,
  }
  for (const [name, times] of Object.entries(counts)) count(tally, name, times)
  for (const { type, outcome } of messages) if (type === 'idle') count(tally, `runs ${outcome}`)
  for (const { content = [] } of messages)
    for (const { state } of content) if (state?.error !== undefined) count(tally, `calls ${state.error.type}`)
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch {
    return []
  }
}
