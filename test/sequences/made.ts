import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { pulseOf } from './commands.ts'
import { settleDelegates } from './delegates.ts'
import type { Follower } from './follow.ts'
import { interrupt, sendInput, wait } from './inputs.ts'
import { addTotals, type Totals } from './judge/totals.ts'
import type { SessionClient } from './session-client.ts'

/** How long a run takes to end, an event to come, and a tool to stop, however busy the machine is. */
const PATIENCE_MS = 300_000

/** Brings the sessions below a session to their end, and checks the list of them against those that were created. */
export async function settleChildren(session: SessionClient, totals: Totals): Promise<void> {
  const { children, history } = session
  const { problems } = history
  const below = new Map([[session.history.sessionId, await settleDelegates(session, totals)]])
  for (const { session: child, sure } of children) {
    const { body, asked } = await child.insist('GET', '')
    if (asked.status === 404 && !sure) continue
    if (!child.expect(200, { body, asked })) continue
    const { id, parentID } = (body as { data: { id: string; parentID: string } }).data
    below.set(parentID, [...(below.get(parentID) ?? []), id])
    if (!below.has(id)) below.set(id, [])
    await quiet(child, true)
    addTotals(totals, await child.client.messages(id), true)
  }
  for (const [id, made] of below) {
    const listed = await idsBelow(session, id)
    if (!isDeepStrictEqual(listed.sort(), made.sort())) problems.push(`below ${id} are ${made}; listed: ${listed}`)
  }
}

/** Checks that what was made of a session goes on by itself, whatever happened to that session. */
export async function settleOffspring({ history, offspring }: SessionClient, totals: Totals): Promise<void> {
  for (const { session: made, sure } of offspring) {
    const { sessionId, problems } = made.history
    const { body, asked } = await made.insist('GET', '')
    if (asked.status === 404 && !sure) continue
    if (!made.expect(200, { body, asked })) continue
    const isFork = (body as { data: { fork?: unknown } }).data.fork !== undefined
    const former = await made.client.messages(sessionId)
    const copy = history.copies.find(({ info }) => info.id === sessionId)
    if (copy !== undefined && !isDeepStrictEqual(copy.messages, former))
      problems.push(`the fork ${sessionId} has not stayed as it was`)
    if ((await listed(made, '/inbox')) + (await listed(made, '/permission')) > 0)
      problems.push(`${sessionId} began with something in its inbox`)
    if (!isFork) {
      addTotals(totals, former, false)
      continue
    }
    await sendInput(made, { kind: 'words', count: 2, slowMs: 0 }, 'steer')
    await quiet(made, false)
    const all = await made.client.messages(sessionId)
    const own = all.slice(former.length)
    addTotals(totals, own, false)
    const kinds = own.map(({ type }) => type)
    if (!isDeepStrictEqual(all.slice(0, former.length), former) || kinds[0] !== 'user' || kinds.at(-1) !== 'idle')
      problems.push(`the fork ${sessionId} does not go on: ${kinds}`)
  }
}

async function idsBelow({ client }: SessionClient, id: string): Promise<string[]> {
  const { body } = await client.insist('GET', `/api/session?parentID=${id}&limit=200`)
  return (body as { data?: { id: string }[] } | undefined)?.data?.map((each) => each.id) ?? []
}

async function listed(session: SessionClient, suffix: string): Promise<number> {
  const { body } = await session.insist('GET', suffix)
  return (body as { data?: unknown[] } | undefined)?.data?.length ?? 0
}

/** Waits until nothing runs; interrupts what may take too long. */
async function quiet(session: SessionClient, isLong: boolean): Promise<void> {
  for (const since = Date.now(); !(await wait(session, 1_000)); ) {
    if (session.client.dead) return
    if (Date.now() - since > PATIENCE_MS) return void session.history.problems.push(`${session.path} is busy for ever`)
    if (isLong) await interrupt(session)
  }
}

/**
 * Checks that a removed session, and everything below it, is gone: it is shown to nobody, its tools have ended, and the
 * stream has reported it. Returns the ids of the sessions.
 */
export async function settleRemoval(session: SessionClient, follower: Follower): Promise<string[]> {
  const { problems } = session.history
  const gone: string[] = []
  for (const { session: each, sure } of [{ session, sure: true }, ...session.children]) {
    const { sessionId, calls } = each.history
    // Sessions below it are removed in the background.
    const isGone = async () => (await each.insist('GET', '')).asked.status === 404
    if (each !== session) await endsIn(PATIENCE_MS, isGone)
    const isAlone = async () => (await idsBelow(each, sessionId)).length === 0
    if (!(await endsIn(PATIENCE_MS, isAlone))) problems.push(`${sessionId} was removed, and others are still below it`)
    for (const suffix of ['', '/message', '/inbox', '/permission']) {
      const answer = await each.insist('GET', suffix)
      if (answer.asked.status !== 404) each.wrong(`${suffix} after its removal`, answer.asked, answer.body)
    }
    const { body } = await each.client.insist('GET', '/api/session?limit=1000')
    const list = (body as { data?: { id: string }[] } | undefined)?.data ?? []
    if (list.some(({ id }) => id === sessionId)) problems.push(`${sessionId} was removed, and is listed`)
    if (!(await endsIn(PATIENCE_MS, () => isStill(pulseOf(calls)))))
      problems.push(`a tool of ${sessionId} runs on after its removal`)
    const isDeleted = () => follower.of(sessionId).some(({ type }) => type === 'session.deleted')
    if (!sure && follower.of(sessionId).length === 0) continue
    if (await endsIn(PATIENCE_MS, isDeleted)) gone.push(sessionId)
    else problems.push(`${sessionId} was removed, and no event says so`)
  }
  return gone
}

async function endsIn(ms: number, isOver: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const since = Date.now(); Date.now() - since < ms; await sleep(20)) if (await isOver()) return true
  return isOver()
}

/** Whether a file has stopped growing. */
async function isStill(path: string): Promise<boolean> {
  const size = sizeOf(path)
  if (size === 0) return true
  await sleep(200)
  return sizeOf(path) === size
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
