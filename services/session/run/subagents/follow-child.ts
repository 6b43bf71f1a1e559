import type { CallOutcome } from '#services/session/domain/generation/call-outcome.ts'
import type { KnownItem } from '#services/session/domain/inbox.ts'
import type { AssistantMessage, StructuredError } from '#services/session/domain/message.ts'
import { isBusy } from '#services/session/domain/session-state.ts'
import type { Delegation } from '#services/session/domain/subagent/delegation.ts'
import type { RunContext } from '../run-context.ts'
import { interruptChild, isGone } from './child-session.ts'

/** How many of its last steps are searched for an answer. */
const MOST_STEPS = 20
const MOST_READ = 1_048_576
/** How many characters of an answer are returned. */
const MOST_ANSWER = 100_000

const REMOVED = 'The session of the task was removed; whatever it has done stays done'
const INTERRUPTED = 'The task was interrupted; what it has done by then stays done'

/** The state of a child session at rest. */
type Rest = KnownItem['state'] | 'removed' | 'late'

/**
 * Waits until the child session of a tool call is at rest, whichever process runs it, and returns the outcome of the call.
 * A task that takes too long is interrupted. Throws the signal's reason.
 */
export async function followChild(
  run: RunContext,
  { sessionID, agent }: Delegation,
  promptId: string,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const metadata = { sessionID, agent }
  const fail = (type: string, message: string, answer = ''): CallOutcome => {
    const error = { type: `task.${type}`, message }
    return { error, content: answer === '' ? [] : [{ type: 'text', text: answer }], metadata }
  }
  const rest = await run.slot.rest(() => untilRest(run, sessionID, promptId, signal))
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
  const end = await readEnd(run, sessionID)
  if (end === undefined) return fail('removed', REMOVED)
  const { error, outcome, answer } = end
  const text = `task_id: ${sessionID}\n\n<task_result>\n${answer}\n</task_result>`
  if (outcome === 'interrupted') return fail('interrupted', INTERRUPTED, text)
  if (outcome === 'failed') return fail('failed', `The task failed: ${error?.message ?? ''}`, text)
  return { error: undefined, content: [{ type: 'text', text }], metadata }
}

async function untilRest(run: RunContext, sessionId: string, promptId: string, signal: AbortSignal): Promise<Rest> {
  const { store, watchers, tenure, clock, session, subagents } = run
  const { workspace } = tenure.lease
  // A session's parent never changes, but an imported call may name any session.
  if ((await store.getSession(workspace, sessionId))?.parentId !== session.id) return 'removed'
  const prompt = await promptOf(run, sessionId, promptId)
  if (prompt === undefined) return 'removed'
  const late = new AbortController()
  const left = prompt.item.timeCreated + subagents.limitMs - clock.now()
  const timer = setTimeout(() => late.abort(), Math.max(0, Math.min(left, subagents.limitMs)))
  const watch = watchers.share('run', (key) =>
    store.inspect(
      key,
      (reads) => reads.item(promptId),
      ({ state, leaseNow }, item) => (isBusy(state, leaseNow) ? undefined : (item?.state ?? 'waiting')),
    ),
  )
  try {
    return await watch.until({ workspace, sessionId }, AbortSignal.any([signal, late.signal]), (found) => found)
  } catch (error) {
    signal.throwIfAborted()
    if (isGone(error)) return 'removed'
    if (late.signal.aborted) return 'late'
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function promptOf({ store, tenure }: RunContext, sessionId: string, id: string): Promise<KnownItem | undefined> {
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

/** How the last run of a session ended, and its last answer; undefined: the session is gone. */
async function readEnd({ store, tenure }: RunContext, sessionId: string) {
  const { workspace } = tenure.lease
  const newest = { order: 'descending', bytes: MOST_READ } as const
  const ends = await store.listMessages(workspace, sessionId, { ...newest, type: 'idle', limit: 1 })
  const steps = await store.listMessages(workspace, sessionId, { ...newest, type: 'assistant', limit: MOST_STEPS })
  const end = ends?.items[0]?.message
  if (steps === undefined || end?.type !== 'idle') return undefined
  const texts = steps.items.map(({ message }) => textOf(message as AssistantMessage))
  return { outcome: end.outcome, error: end.error as StructuredError | undefined, answer: cut(texts.find(Boolean)) }
}

function textOf({ parts }: AssistantMessage): string {
  return parts
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n\n')
    .trim()
}

function cut(answer = ''): string {
  if (answer.length <= MOST_ANSWER) return answer
  return `${answer.slice(0, MOST_ANSWER).toWellFormed()}\n(The rest was left out.)`
}
