import type { WireMessage } from '#test/support/instance-client.ts'
import { before, mayBeDone } from './asked.ts'
import { type History, type SentInput, stoppers } from './history.ts'
import { interrupt, sendInput, wait } from './inputs.ts'
import type { SessionClient } from './session-client.ts'
import { isLong } from './step.ts'

/** No run is idle for longer, except in a long step or after an interrupt, however busy the machine is. */
const STILL_MS = 450_000
const STOP_MS = 300_000
/** Nor does a run go on for longer without an end. */
const ENDLESS_MS = 1_800_000

/**
 * Brings a session to its end: waits until it is idle (interrupting what would take too long), checks that it has run
 * what had to run by then, and wakes it until everything that was accepted has run. Returns its messages.
 */
export async function settle(session: SessionClient): Promise<readonly WireMessage[]> {
  const { client, history } = session
  const { problems, inputs, sessionId } = history
  await quiet(session)
  let messages = await client.messages(sessionId)
  const ends = stoppers(history)
  const wake = history.wakes.findLast(({ status }) => status === 200)
  history.woken = ends.length > 0 && wake !== undefined && ends.every((end) => before(end, wake))
  for (const input of left(inputs, messages)) {
    if (mustRun(history, input)) problems.push(`${input.id} was accepted and does not run, though the session is idle`)
  }
  problems.push(...(await judgeWaitingMoves(session)), ...judgeResume(history, messages))
  if (problems.length > 0) return messages
  for (let round = 0; round <= inputs.length + 1; round++) {
    if (round > 0 && left(inputs, messages).length === 0) return messages
    await sendInput(session, { kind: 'words', count: 1, slowMs: 0 }, 'queue')
    await quiet(session)
    messages = await client.messages(sessionId)
    if (problems.length > 0) return messages
  }
  for (const { id } of left(inputs, messages)) problems.push(`${id} was accepted and never runs`)
  return messages
}

function left(inputs: readonly SentInput[], messages: readonly WireMessage[]): SentInput[] {
  const entered = new Set(messages.map(({ id }) => id))
  return inputs.filter(({ id, accepted, cancelled }) => accepted && id !== undefined && !entered.has(id) && !cancelled)
}

/**
 * Whether an accepted input must have run by the time that the session is idle: it, or something later, woke the
 * session, and nothing that ends runs came after that. An interrupt that resumes is both, for what waits for the next
 * step.
 */
function mustRun(history: History, { asked, queued }: SentInput): boolean {
  const ends = stoppers(history)
  return history.wakes.some((wake) => {
    const goesOn = history.goOns.includes(wake)
    if (goesOn && queued) return false
    return (
      isDone(wake.status) &&
      (wake === asked || before(asked, wake)) &&
      ends.every((end) => end === wake || before(end, wake))
    )
  })
}

function isDone(status: number | undefined): boolean {
  return status !== undefined && status < 300
}

/** Moves do not wait longer than inputs do. */
async function judgeWaitingMoves(session: SessionClient): Promise<string[]> {
  const { history } = session
  const { body } = await session.insist('GET', '/inbox')
  const waiting = (body as { data?: { id: string; type: string }[] } | undefined)?.data ?? []
  const ends = stoppers(history)
  const moves = history.moves.filter(({ asked }) => mayBeDone(asked))
  const woken = history.wakes.some(
    (wake) =>
      isDone(wake.status) &&
      !history.goOns.includes(wake) &&
      ends.every((end) => before(end, wake)) &&
      moves.every(({ asked }) => asked === wake || before(asked, wake)),
  )
  return waiting
    .filter(({ type }) => woken && type === 'move')
    .map(({ id }) => `the move ${id} was admitted and is not made, though the session is idle`)
}

/** A run that was resumed after all that ends runs does not stay interrupted, nor failed once the failure is over. */
function judgeResume({ resumes, interrupts, replies, sessionId }: History, messages: readonly WireMessage[]): string[] {
  const ends = stoppers({ interrupts, replies })
  const last = messages.findLast(({ type }) => type === 'idle')
  const resumed = resumes.some((one) => isDone(one.status) && ends.every((end) => before(end, one)))
  return resumed && last?.outcome === 'interrupted' ? [`${sessionId} was resumed, and stays interrupted`] : []
}

/** Waits until nothing runs in the session; interrupts once if the running work is long. */
async function quiet(session: SessionClient): Promise<void> {
  const { client, history } = session
  const { sessionId, inputs, problems } = history
  const long = new Set(inputs.filter(({ work }) => isLong(work)).map(({ id }) => id))
  const begun = Date.now()
  let [moved, seen] = [begun, '']
  let interrupted: number | undefined
  // What was already ended may take a moment; another interrupt would hide what it has to leave.
  const patience = stoppers(history).length > 0 ? 2_000 : 400
  for (let first = true; ; first = false) {
    if (await wait(session, long.size > 0 ? (first ? patience : 400) : 3_000)) return
    if (client.dead) return void problems.push('the server was given up')
    const messages = await client.messages(sessionId)
    const last = `${messages.length} ${JSON.stringify(messages.at(-1))}`
    if (last !== seen) {
      ;[moved, seen] = [Date.now(), last]
      // A request that woke the session and was not answered may still arrive.
      if (history.wakes.some(({ status }) => status === undefined)) interrupted = undefined
    }
    // A server that is restarting makes no progress.
    if (session.scene.disturbed(Date.now())) moved = Date.now()
    const still = Date.now() - Math.max(moved, interrupted ?? 0)
    if (still > (interrupted === undefined ? STILL_MS : STOP_MS) || Date.now() - begun > ENDLESS_MS) {
      const after = interrupted === undefined ? '' : `, ${Date.now() - interrupted} ms after an interrupt`
      problems.push(
        `still busy after ${Date.now() - begun} ms, the last ${still} of them without a change${after}; its last message: ${last.slice(0, 2_000)}`,
      )
      return
    }
    if (long.size === 0 || interrupted !== undefined) continue
    const running = messages.findLast(({ type }) => type === 'user' || type === 'synthetic')
    // An input with an id from the server and an unknown fate may be long, too.
    const minted = running !== undefined && !inputs.some(({ id }) => id === running.id)
    if (running !== undefined && (long.has(running.id) || (minted && long.has(undefined)))) {
      if (await interrupt(session)) interrupted = Date.now()
    }
  }
}
