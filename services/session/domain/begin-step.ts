import { beginCompaction, type CompactionStart } from './compaction/compaction.ts'
import type { Room } from './compaction/recent.ts'
import { beginTitle } from './description.ts'
import { beginRun, promoteItems } from './inbox/promotion.ts'
import type { Admitter, WaitingInputs } from './inbox.ts'
import type { CompactionMessage, Message, StoredMessage } from './message.ts'
import { isUnfinished, type NextAction, nextAction } from './next-action.ts'
import type { Revision } from './revision.ts'
import type { Session } from './session.ts'
import { isTitleInput } from './title.ts'

/** What the beginning of a step is decided from, besides the state of the session. */
export interface StepReads {
  readonly session: Session
  readonly waiting: WaitingInputs
  /** What came into the conversation since it was read last. */
  readonly transcript: readonly StoredMessage[]
}

/** How a run goes on. */
export interface StepStart {
  /** What the conversation goes on with, promoted inputs included. */
  readonly messages: readonly StoredMessage[]
  readonly session: Session
  /** Who admitted the last input that was promoted; undefined before the first. */
  readonly admitter: Admitter | undefined
  /** The request that is to find a title for the session, beside the run. */
  readonly titleRequest: string | undefined
  /**
   * `boundary`: a control item was promoted, or not all inputs that wait, and the step begins anew. Undefined: there is nothing to run; an interrupt, or
   * nothing at all, stands behind the wake. `compaction`: one has begun.
   */
  readonly next:
    | Exclude<NextAction, { type: 'compact' }>
    | { readonly type: 'boundary' }
    | { readonly type: 'compaction'; readonly message: CompactionMessage; readonly cause: CompactionCause }
    | undefined
  /** The session's last number. */
  readonly seq: number
}

/** Why a conversation is summarized: a client requested it, most of the model's context is used up, or it was too long. */
export type CompactionCause = 'requested' | 'full' | 'overflow'

/** What is known of the conversation, and of how the last step ended. */
export interface Known extends Room {
  readonly messages: readonly Message[]
  /** The agent has used up its steps, and only a new input gives it others. */
  readonly limited: boolean
  /** Most of the model's context is used up. */
  readonly full: boolean
}

/**
 * Promotes what waits, and decides how the run goes on. Where none has begun it begins one, at an idle boundary; or, where it
 * was resumed, it goes on with the one that was interrupted or failed, and queued items wait. A compaction that is due begins
 * with it.
 */
export function beginStep(
  revision: Revision,
  { session, waiting, transcript }: StepReads,
  { messages: known, limited, full, ...room }: Known,
): StepStart {
  const start = (promoted: readonly StoredMessage[], next: StepStart['next']): StepStart => {
    const spoken = promoted.some(({ message }) => isTitleInput(message))
    const titleRequest = spoken ? beginTitle(revision) : undefined
    const { lastAdmitter: admitter } = revision.state
    return { messages: [...transcript, ...promoted], session, admitter, titleRequest, next, seq: revision.state.seq }
  }
  const conversation = [...known, ...transcript.map(({ message }) => message)]
  // A rejected call ends the run before anything that was admitted since can enter it.
  const ahead = nextAction(conversation)
  if (!revision.state.running) resume(revision, conversation)
  const { running } = revision.state
  if (running && ahead.type === 'end' && ahead.outcome === 'interrupted') return start([], ahead)
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

/** Begins a run that goes on where the last one ended, if that was requested and there is anything to go on with. */
function resume(revision: Revision, conversation: readonly Message[]): void {
  const { due, wake, lastAdmitter } = revision.state
  if (!due || wake?.resume !== true) return
  const { resumer = lastAdmitter } = wake
  revision.set({ wake: { ...wake, resume: false, resumer: undefined } })
  if (!isUnfinished(conversation)) return
  beginRun(revision)
  revision.set({ lastAdmitter: resumer })
}

const SUCCEEDED = { type: 'end', outcome: 'succeeded', error: undefined } as const
