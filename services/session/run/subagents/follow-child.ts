import type { Message, RunEnded } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { type CallOutcome, textResult } from '#services/session/domain/generation/call-outcome.ts'
import type { InboxEntry } from '#services/session/domain/inbox.ts'
import { isBusy } from '#services/session/domain/session-state.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import type { Delegation } from '#services/session/domain/subagent/delegation.ts'
import type { RunContext } from '../run-context.ts'
import { interruptChild, isGone } from './child-session.ts'

/** How many of the last steps of a task are searched for an answer. */
const MOST_STEPS = 20
/** How many of its interrupts are looked past. */
const MOST_INTERRUPTS = 100
const MOST_READ = 1_048_576
/** How many characters of an answer are returned. */
const MOST_ANSWER = 100_000

const REMOVED = 'The session of the task was removed; what it has done remains'
const INTERRUPTED = 'The task was interrupted; what it had done remains'

/** What became of the prompt of a task whose run has ended, or whose session is at rest. */
type Rest = InboxEntry['state'] | 'removed' | 'late'

/**
 * Waits until the run of the prompt of a tool call has ended in its child session, whichever process runs it, and
 * returns the outcome of the call: what steers the run, or interrupts it to steer it, takes part in the task, and what
 * is queued behind it does not. A task that takes too long is interrupted. Throws the signal's reason.
 */
export async function followChild(
  run: RunContext,
  { sessionID, agent }: Delegation,
  promptId: string,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const metadata = { sessionID, agent }
  const fail = (type: string, message: string, answer = ''): CallOutcome => {
    const error = structuredError(`task.${type}`, message)
    return { error, content: answer === '' ? [] : [textResult(answer)], metadata }
  }
  const rest = await run.slot.rest(() => untilEnded(run, sessionID, promptId, signal))
  switch (rest) {
    case 'removed':
      return fail('removed', REMOVED)
    case 'late':
      await interruptChild(run, sessionID)
      return fail('timeout', `The task took longer than ${run.subagents.limitMs / 1_000} s, and was interrupted`)
    case 'waiting':
    case 'cancelled':
      return fail('interrupted', INTERRUPTED)
    case 'delivered':
  }
  const end = await readEnd(run, sessionID, promptId)
  if (end === undefined) return fail('removed', REMOVED)
  const { error, outcome, answer } = end
  const text = `task_id: ${sessionID}\n\n<task_result>\n${answer}\n</task_result>`
  if (outcome === Outcome.INTERRUPTED) return fail('interrupted', INTERRUPTED, text)
  if (outcome === Outcome.FAILED) return fail('failed', `The task failed: ${error?.message ?? ''}`, text)
  return { error: undefined, content: [textResult(text)], metadata }
}

async function untilEnded(run: RunContext, sessionId: string, promptId: string, signal: AbortSignal): Promise<Rest> {
  const { store, watchers, tenure, clock, session, subagents } = run
  const { workspace } = tenure.lease
  // A session's parent never changes, but an imported call may name any session.
  if ((await store.getSession(workspace, sessionId))?.parentId !== session.sessionId) return 'removed'
  const prompt = await promptOf(run, sessionId, promptId)
  if (prompt === undefined) return 'removed'
  const late = new AbortController()
  const left = prompt.item.createTime + subagents.limitMs - clock.now()
  const timer = setTimeout(() => late.abort(), Math.max(0, Math.min(left, subagents.limitMs)))
  const watch = watchers.share('run', (key) =>
    store.inspect(
      key,
      (reads) => reads.item(promptId),
      ({ state, leaseNow }, item) => ({
        rest: item?.state ?? 'waiting',
        busy: isBusy(state, leaseNow),
        idleTime: state.idleTime,
      }),
    ),
  )
  let lookedAt: number | undefined
  try {
    return await watch.until({ workspace, sessionId }, AbortSignal.any([signal, late.signal]), async (view) => {
      const { rest, busy, idleTime } = view
      if (!busy) return rest
      if (rest !== 'delivered' || idleTime === lookedAt) return undefined
      lookedAt = idleTime
      const end = await findEnd(run, sessionId, promptId)
      return end !== undefined && isOver(end.idle) ? rest : undefined
    })
  } catch (error) {
    signal.throwIfAborted()
    if (isGone(error)) return 'removed'
    if (late.signal.aborted) return 'late'
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function promptOf({ store, tenure }: RunContext, sessionId: string, id: string): Promise<InboxEntry | undefined> {
  try {
    const key = { workspace: tenure.lease.workspace, sessionId }
    return await store.inspect(
      key,
      (reads) => reads.item(id),
      (_, item) => item,
    )
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

/**
 * Where the prompt of a task is in its session, and the end of its run; undefined: there is none yet, or the session is
 * gone. A run that was interrupted for a steer goes on as the next one. Once the session was at rest, the task is over,
 * even if it was prompted again before anybody looked.
 */
async function findEnd({ store, tenure }: RunContext, sessionId: string, promptId: string) {
  const { workspace } = tenure.lease
  const prompt = await store.getMessage(workspace, sessionId, promptId)
  if (prompt === undefined) return undefined
  const anchor = { seq: prompt.seq, direction: 'next' } as const
  const query = { type: 'idle', order: Order.ASCENDING, limit: MOST_INTERRUPTS, bytes: MOST_READ, anchor } as const
  const page = await store.listMessages(workspace, sessionId, query)
  const ends = (page?.items ?? []).flatMap(({ seq, message }) =>
    message.kind.case === 'idle' ? [{ begin: prompt.seq, end: seq, idle: message.kind.value }] : [],
  )
  return ends.find(({ idle }) => isOver(idle)) ?? ends.at(-1)
}

function isOver({ outcome, goesOn = outcome === Outcome.INTERRUPTED }: RunEnded): boolean {
  return !goesOn
}

/** How the run of a task ended, and its last answer; undefined: the session is gone. */
async function readEnd(run: RunContext, sessionId: string, promptId: string) {
  const { store, tenure } = run
  const ending = await findEnd(run, sessionId, promptId)
  if (ending === undefined) return undefined
  const { begin, end, idle } = ending
  const anchor = { seq: end, direction: 'next' } as const
  const query = { type: 'assistant', order: Order.DESCENDING, limit: MOST_STEPS, bytes: MOST_READ, anchor } as const
  const steps = await store.listMessages(tenure.lease.workspace, sessionId, query)
  if (steps === undefined) return undefined
  const own = steps.items.filter(({ seq }) => seq > begin)
  const texts = own.map(({ message }) => textOf(message))
  return { outcome: idle.outcome, error: idle.error, answer: cut(texts.find(Boolean)) }
}

function textOf({ kind }: Message): string {
  const parts = kind.case === 'assistant' ? kind.value.parts : []
  return parts
    .flatMap(({ part }) => (part.case === 'text' ? [part.value.text] : []))
    .join('\n\n')
    .trim()
}

function cut(answer = ''): string {
  if (answer.length <= MOST_ANSWER) return answer
  return `${answer.slice(0, MOST_ANSWER).toWellFormed()}\n(The rest was left out.)`
}
