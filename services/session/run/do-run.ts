import { Compaction_Status, type StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import type { StepStart } from '../domain/begin-step.ts'
import { COMPACTION_EMPTY } from '../domain/compaction/compaction.ts'
import type { Admitter } from '../domain/inbox.ts'
import type { MessageOf } from '../domain/message.ts'
import { isTitleInput } from '../domain/title.ts'
import { compact } from './compaction/compact.ts'
import type { Mark } from './events/event-hub.ts'
import {
  type Conversation,
  checkSize,
  extended,
  isTooLarge,
  readConversation,
  replaced,
} from './history/conversation.ts'
import { StoreFault } from './patient-port.ts'
import { type RunContext, RunFailure } from './run-context.ts'
import { INTERNAL, resumeStep, runStep, type StepEnd } from './run-step.ts'
import { interruptDelegates } from './subagents/task-call.ts'
import { atStep, type Drain } from './takeover/take-over.ts'
import { isLeaseLost, Stopped } from './tenure.ts'

interface RunEnd {
  readonly outcome: Outcome
  readonly error: StructuredError | undefined
}

const SUCCEEDED: RunEnd = { outcome: Outcome.SUCCEEDED, error: undefined }
const INTERRUPTED: RunEnd = { outcome: Outcome.INTERRUPTED, error: undefined }

/** The state of a run between two steps. */
interface Course {
  readonly conversation: Conversation
  readonly last: StepEnd['end'] | undefined
  /** Tokens that the model of the last step takes; undefined: nobody knows. */
  readonly contextLength: number | undefined
  /** An automatic compaction has failed; no other one begins until the conversation is too long. */
  readonly uncompacted: boolean
  /** The error of the compaction that began the run. */
  readonly failure: StructuredError | undefined
}

/**
 * Does steps, first those that a former owner left, with compactions in between, until the conversation needs no
 * further step or the agent may take none.
 */
export async function doRun(run: Drain, left: readonly MessageOf<'assistant'>[]): Promise<RunEnd> {
  const { store, tenure, owned, logger, hub } = run
  try {
    for (const step of left) await resumeStep(await atStep(run), step)
    const conversation = await readConversation(store, tenure.lease)
    let course: Course = {
      conversation,
      last: undefined,
      contextLength: undefined,
      uncompacted: false,
      failure: undefined,
    }
    for (;;) {
      tenure.check()
      const mark = hub.mark()
      const start = await owned.beginStep(courseOf(course))
      course = { ...course, conversation: extended(course.conversation, start.messages) }
      const { next } = start
      findTitle(run, start, course)
      if (next?.type === 'boundary') continue
      if (next?.type === 'compaction') {
        course = await doCompaction(run, start, course, mark)
        continue
      }
      if (next?.type === 'end' && course.failure !== undefined)
        return { outcome: Outcome.FAILED, error: course.failure }
      if (next !== undefined) checkSize(course.conversation)
      if (next?.type !== 'step') return next ?? SUCCEEDED
      course = await doStep(run, start, course)
    }
  } catch (error) {
    // Whoever owns the session next finds out what was written, and settles what was not.
    if (isLeaseLost(error) || isStoreUnavailable(error) || error instanceof StoreFault) throw error
    const isInterrupted = tenure.reason === 'interrupted'
    if (tenure.reason !== undefined && !isInterrupted) throw error
    if (error instanceof Stopped) return INTERRUPTED
    if (error instanceof RunFailure)
      return isInterrupted ? INTERRUPTED : { outcome: Outcome.FAILED, error: error.error }
    logger.error({ err: error, sessionId: tenure.lease.sessionId }, 'A run failed')
    const { abandoned } = await owned.settleAborted()
    await interruptDelegates(run, abandoned)
    return isInterrupted ? INTERRUPTED : { outcome: Outcome.FAILED, error: INTERNAL }
  }
}

function courseOf({ conversation, last, contextLength, uncompacted }: Course) {
  const full = !uncompacted && (last === 'full' || isTooLarge(conversation))
  return { ...conversation, contextLength, limited: last === 'limited', full }
}

async function doStep(run: Drain, start: StepStart, course: Course): Promise<Course> {
  run.tenure.check()
  const { messages } = course.conversation
  const ended = await inSpan('session.step', {}, () => runStep(contextOf(run, start), messages, !course.uncompacted))
  const after = { ...course, last: ended.end, contextLength: ended.contextLength }
  return ended.end === 'full' ? after : { ...after, failure: undefined }
}

async function doCompaction(run: Drain, start: StepStart, course: Course, mark: Mark): Promise<Course> {
  const { next, seq } = start
  if (next?.type !== 'compaction') return course
  const { conversation } = course
  const { message, cause } = next
  const settled =
    message.kind.value.status === Compaction_Status.RUNNING
      ? await compact(contextOf(run, start), message, course, { seq, mark })
      : message
  const after = { ...course, conversation: replaced(conversation, settled), last: undefined }
  const { error, alone } = settled.kind.value
  if (error === undefined) return after
  if (cause === 'overflow') throw new RunFailure(error)
  if (cause === 'full') return { ...after, uncompacted: true }
  return alone && error.type !== COMPACTION_EMPTY ? { ...after, failure: error } : after
}

function contextOf(run: Drain, { admitter, session }: StepStart): RunContext {
  return { ...run, principal: admitter as Admitter, session }
}

function findTitle({ titles }: Drain, start: StepStart, { conversation }: Course): void {
  const { titleRequest: id, session, admitter } = start
  if (id === undefined) return
  const first = conversation.messages.find(isTitleInput)
  if (first !== undefined) titles.find({ id, session, principal: admitter as Admitter, prompt: first.kind.value })
}
