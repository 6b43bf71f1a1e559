import type {
  Admission,
  AdmissionReads,
  CompactionAdmission,
  CompactionItem,
  InboxItem,
  MoveAdmission,
  MoveItem,
  PromptAdmission,
  PromptItem,
  SyntheticAdmission,
  SyntheticItem,
  WaitingInput,
} from '../inbox.ts'
import type { Revision } from '../revision.ts'
import { wake } from './wake.ts'

/**
 * Puts a user's input into the inbox, and with `wake` makes the session due. The same id again with the same digest returns
 * the first item, be it a message by now, and with `wake` makes the session due all the same: an interrupt may have parked other
 * inputs. Undefined: the id has another digest, belongs to another session, or names something that is no input of a user, or
 * one that was cancelled and never runs; or it is new, and the inbox is full.
 */
export function admitPrompt(
  revision: Revision,
  reads: AdmissionReads,
  { prompt, ...admission }: PromptAdmission,
): PromptItem | undefined {
  const item = admit(revision, reads, admission, (base) => ({ type: 'prompt', ...base, prompt }))
  return item?.type === 'prompt' ? item : undefined
}

/** Puts a synthetic text into the inbox, as `admitPrompt` does an input. */
export function admitSynthetic(
  revision: Revision,
  reads: AdmissionReads,
  { synthetic, ...admission }: SyntheticAdmission,
): SyntheticItem | undefined {
  const item = admit(revision, reads, admission, (base) => ({ type: 'synthetic', ...base, synthetic }))
  return item?.type === 'synthetic' ? item : undefined
}

/** Puts a move into the inbox, as `admitPrompt` does an input. */
export function admitMove(
  revision: Revision,
  reads: AdmissionReads,
  { move, ...admission }: MoveAdmission,
): MoveItem | undefined {
  const item = admit(revision, reads, admission, (base) => ({ type: 'move', ...base, move }))
  return item?.type === 'move' ? item : undefined
}

/** What a compaction is decided from, besides the state of the session. */
export interface CompactionReads extends AdmissionReads {
  /** The one that waits. */
  readonly waiting: WaitingInput | undefined
}

/** Puts a compaction into the inbox, as `admitPrompt` does an input; where one waits, wakes the session and returns that. */
export function admitCompaction(
  revision: Revision,
  { taken, full, waiting }: CompactionReads,
  admission: CompactionAdmission,
): CompactionItem | undefined {
  if (taken === undefined && waiting?.item.type === 'compaction') {
    if (admission.wake) wake(revision)
    return waiting.item
  }
  const item = admit(revision, { taken, full }, admission, (base) => ({ type: 'compaction', ...base, compaction: {} }))
  return item?.type === 'compaction' ? item : undefined
}

type Base = Pick<InboxItem, 'id' | 'sessionId' | 'delivery' | 'timeCreated'>

function admit(
  revision: Revision,
  { taken, full }: AdmissionReads,
  { id, delivery, digest, admitter, wake: wakes }: Admission,
  make: (base: Base) => InboxItem,
): InboxItem | undefined {
  const sessionId = revision.state.id
  const item = make({ id, sessionId, delivery, timeCreated: revision.now })
  if (taken !== undefined) {
    const { input } = taken
    if (taken.sessionId !== sessionId || input?.digest !== digest || input.item.type !== item.type) return undefined
    if (input.state === 'cancelled') return undefined
  }
  if (taken === undefined && full) return undefined
  if (wakes) wake(revision)
  if (taken?.input !== undefined) return taken.input.item
  revision.writes.push({ type: 'admit', seq: revision.nextSeq(), item, digest, admitter })
  revision.event({ type: 'inbox-enqueued', item })
  revision.touch()
  return item
}
