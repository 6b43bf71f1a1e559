import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type Compaction,
  type Message,
  Compaction_Status as Status,
  type StructuredError,
} from '#gen/portico/session/v1/message_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import { withTotals } from '../event.ts'
import { type MessageOf, messageOf, withChanges } from '../message.ts'
import { stepsSinceInput } from '../next-action.ts'
import type { Revision } from '../revision.ts'
import { structuredError } from '../structured-error.ts'
import { type Covered, coveredBy, openInput } from './coverage.ts'
import { newestHalf, type Room, recentOf } from './recent.ts'
import { hasGoneOn, wasTooLong } from './request-size.ts'

export interface CompactionStart {
  /** Id of the inbox item that requested it; undefined: none did. */
  readonly id: string | undefined
  /** Whether it is the first thing in its run. */
  readonly alone: boolean
}

/** The message of a compaction and its place in the conversation. */
interface StoredCompaction {
  readonly seq: number
  readonly message: MessageOf<'compaction'>
}

export const COMPACTION_FAILED = 'compaction.failed'
/** The error type of one that was requested where there is nothing to summarize: it does no harm. */
export const COMPACTION_EMPTY = 'compaction.empty'
/** Somebody interrupted the run. */
export const COMPACTION_INTERRUPTED = structuredError('compaction.interrupted', 'The compaction was interrupted')
/** The error of a compaction whose owner is gone. */
const COMPACTION_ABORTED = structuredError('aborted', 'The compaction was cut off')

const NOTHING = 'There is nothing to summarize'
const INPUT_TOO_LONG =
  'The last input is too long for the model: send a shorter one, or use a model with a longer context'
const STILL_TOO_LONG = 'The conversation is too long for the model, although it was summarized'

/**
 * Begins to summarize a conversation, with a running message and the turns that stay word for word. If the conversation
 * was too long right after a summary, it is summarized again with half of these turns, until there is nothing left to
 * halve. Then, or if there is nothing to summarize, the compaction fails at once, even if it was requested.
 */
export function beginCompaction(
  revision: Revision,
  conversation: readonly Message[],
  room: Room,
  { id, alone }: CompactionStart,
): StoredCompaction {
  const made = revision.newMessage()
  const head = { ...made, messageId: id ?? made.messageId }
  const { messageId } = head
  const manual = id !== undefined
  const before = { manual, stepsBefore: stepsSinceInput(conversation), alone }
  const covered = coveredBy(conversation, !manual)
  const goesOn = hasGoneOn(conversation)
  if (!manual && !goesOn && covered.summary?.recent) return shorten(revision, covered.summary, head, before)
  const problem = manual ? emptiness(conversation, covered) : problemOf(conversation, covered, goesOn)
  if (problem !== undefined) {
    const error = structuredError(manual ? COMPACTION_EMPTY : COMPACTION_FAILED, problem)
    const message = messageOf(head, 'compaction', { ...before, status: Status.FAILED, error })
    const seq = revision.insert(message)
    revision.event({ case: 'compactionFailed', value: { messageId, manual, error } })
    return { seq, message }
  }
  const recent = recentOf(covered.turns, room)
  const message = messageOf(head, 'compaction', { ...before, status: Status.RUNNING, summary: '', recent })
  const seq = revision.insert(message)
  revision.event({ case: 'compactionStarted', value: { messageId, manual, recent } })
  revision.touch()
  return { seq, message }
}

/** The last summary again, with half of the turns that stayed word for word. */
function shorten(
  revision: Revision,
  { summary = '', recent: all = '', model }: Compaction,
  head: ReturnType<Revision['newMessage']>,
  before: Pick<Compaction, 'manual' | 'stepsBefore' | 'alone'>,
): StoredCompaction {
  const { messageId } = head
  const { manual } = before
  const recent = newestHalf(all)
  const message = messageOf(head, 'compaction', { ...before, status: Status.COMPLETED, summary, recent, model })
  const seq = revision.insert(message)
  revision.event({ case: 'compactionStarted', value: { messageId, manual, recent } })
  revision.event({ case: 'compactionEnded', value: { messageId, manual, text: summary, recent } })
  revision.touch()
  return { seq, message }
}

/** Summarizing again has no use, unless the conversation was too long nevertheless. */
function emptiness(conversation: readonly Message[], { turns }: Covered): string | undefined {
  return turns.length > 0 || wasTooLong(conversation) ? undefined : NOTHING
}

function problemOf(conversation: readonly Message[], { summary, turns }: Covered, goesOn: boolean): string | undefined {
  if (goesOn && (turns.length > 0 || summary !== undefined)) return undefined
  if (openInput(conversation, true) !== undefined) return INPUT_TOO_LONG
  return summary === undefined ? NOTHING : STILL_TOO_LONG
}

/** The usage and cost of a call for a summary. */
export interface CompactionUsage {
  readonly costNanos: bigint
  readonly tokens: TokenUsage
}

/** A summary with its model and cost. */
export interface Summary extends CompactionUsage {
  readonly text: string
  readonly model: ModelRef
}

/** Completes the compaction: from now on, the summary replaces everything before it. */
export function finishCompaction(
  revision: Revision,
  running: MessageOf<'compaction'>,
  { text, model, costNanos, tokens }: Summary,
): MessageOf<'compaction'> {
  const made = { status: Status.COMPLETED, error: undefined, summary: text, model, costNanos, tokens }
  const message = withChanges(running, made)
  settle(revision, message)
  const { messageId } = message
  const { manual, recent = '' } = message.kind.value
  revision.event({ case: 'compactionEnded', value: { messageId, manual, text, recent } })
  return message
}

/**
 * Fails the compaction; the conversation stays as it is. `usage`: its cost nevertheless; undefined: none, or unknown.
 */
export function failCompaction(
  revision: Revision,
  running: MessageOf<'compaction'>,
  error: StructuredError,
  usage?: CompactionUsage,
): MessageOf<'compaction'> {
  const end = { status: Status.FAILED, summary: undefined, recent: undefined, error, ...usage }
  const message = withChanges(running, end)
  settle(revision, message)
  revision.event({
    case: 'compactionFailed',
    value: { messageId: message.messageId, manual: message.kind.value.manual, error },
  })
  return message
}

/** Settles a compaction that a former owner left running. */
export function abortCompaction(revision: Revision, running: MessageOf<'compaction'>): void {
  failCompaction(revision, running, COMPACTION_ABORTED)
}

function settle(revision: Revision, message: MessageOf<'compaction'>): void {
  revision.replace(message)
  revision.count(message)
  revision.touch()
  const { costNanos, tokens } = message.kind.value
  if (costNanos === undefined || tokens === undefined) return
  revision.addUsage(costNanos, tokens)
  revision.event(
    withTotals({ case: 'usageRecorded', value: { source: 'compaction', costNanos, tokens } }, revision.state),
  )
}
