import type { Message } from '#gen/portico/session/v1/message_pb.js'
import { Outcome, type Session } from '#gen/portico/session/v1/session_pb.js'
import { beginCompaction, type CompactionStart } from './compaction/compaction.ts'
import type { Room } from './compaction/recent.ts'
import { beginTitle } from './description.ts'
import { beginRun, promoteItems } from './inbox/promotion.ts'
import type { Admitter, WaitingInputs } from './inbox.ts'
import type { MessageOf, StoredMessage } from './message.ts'
import { isUnfinished, type NextAction, nextAction } from './next-action.ts'
import type { Revision } from './revision.ts'
import { isTitleInput } from './title.ts'

/** What the beginning of a step depends on, besides the state of the session. */
export interface StepReads {
  readonly session: Session
  readonly waiting: WaitingInputs
  /** Messages since the conversation was last read. */
  readonly transcript: readonly StoredMessage[]
}

/** How a run continues. */
export interface StepStart {
  /** New messages of the conversation, promoted inputs included. */
  readonly messages: readonly StoredMessage[]
  readonly session: Session
  /** Who admitted the last input that was promoted; undefined before the first. */
  readonly admitter: Admitter | undefined
  /** The id of the request for the session's title, which is found in parallel with the run. */
  readonly titleRequest: string | undefined
  /**
   * `boundary`: a control item or only some of the waiting inputs were promoted, and the step begins again.
   * `compaction`: one has begun. Undefined: there is nothing to run, because of an interrupt or a wake without work.
   */
  readonly next:
    | Exclude<NextAction, { type: 'compact' }>
    | { readonly type: 'boundary' }
    | { readonly type: 'compaction'; readonly message: MessageOf<'compaction'>; readonly cause: CompactionCause }
    | undefined
  /** The session's last number. */
  readonly seq: number
}

/**
 * Why a conversation is summarized: a client requested it, most of the model's context is used up, or it was too long.
 */
export type CompactionCause = 'requested' | 'full' | 'overflow'

/** The state of the conversation, and how the last step ended. */
export interface Course extends Room {
  readonly messages: readonly Message[]
  /** The agent has used up its steps, until there is a new input. */
  readonly limited: boolean
  /** Most of the model's context is used up. */
  readonly full: boolean
}

/**
 * Promotes waiting inputs, and decides how the run continues. If no run has begun, begins one at an idle boundary or,
 * if the session was resumed, continues the run that was interrupted or failed, while queued items wait. Begins a
 * compaction that is due.
 */
export function beginStep(
  revision: Revision,
  { session, waiting, transcript }: StepReads,
  { messages: before, limited, full, ...room }: Course,
): StepStart {
  const start = (promoted: readonly StoredMessage[], next: StepStart['next']): StepStart => {
    const spoken = promoted.some(({ message }) => isTitleInput(message))
    const titleRequest = spoken ? beginTitle(revision) : undefined
    const { lastAdmitter: admitter } = revision.state
    return { messages: [...transcript, ...promoted], session, admitter, titleRequest, next, seq: revision.state.seq }
  }
  const conversation = [...before, ...transcript.map(({ message }) => message)]
  // A rejected call ends the run before inputs that were admitted since can enter it.
  const ahead = nextAction(conversation)
  if (!revision.state.running) resume(revision, conversation)
  const { running } = revision.state
  if (running && ahead.type === 'end' && ahead.outcome === Outcome.INTERRUPTED) return start([], ahead)
  const { messages: promoted, control, more, compaction } = promoteItems(revision, waiting, running ? 'step' : 'idle')
  const entered = [...conversation, ...promoted.map(({ message }) => message)]
  const compact = (cause: CompactionCause, begun: CompactionStart): StepStart => {
    const stored = beginCompaction(revision, entered, room, begun)
    const { message } = stored
    return start([...promoted, stored], { type: 'compaction', message, cause })
  }
  if (compaction !== undefined) return compact('requested', compaction)
  if (control || more) return start(promoted, { type: 'boundary' })
  if (!revision.state.running) return start([], undefined)
  const next = nextAction(entered)
  if (next.type === 'compact') return compact('overflow', { id: undefined, alone: false })
  if (next.type === 'step' && limited && promoted.length === 0) return start([], { ...SUCCEEDED })
  return next.type === 'step' && full ? compact('full', { id: undefined, alone: false }) : start(promoted, next)
}

/** Begins a run that continues the last one, if that was requested and there is anything to continue. */
function resume(revision: Revision, conversation: readonly Message[]): void {
  const { due, wake, lastAdmitter } = revision.state
  if (!due || wake?.resume !== true) return
  const { resumer = lastAdmitter } = wake
  revision.set({ wake: { ...wake, resume: false, resumer: undefined } })
  if (!isUnfinished(conversation)) return
  beginRun(revision)
  revision.set({ lastAdmitter: resumer })
}

const SUCCEEDED = { type: 'end', outcome: Outcome.SUCCEEDED, error: undefined } as const
