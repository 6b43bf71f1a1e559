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

/** Why an id is not admitted: it names something else, or a cancelled item; or it is new, and the inbox is full. */
export type NotAdmitted = 'taken' | 'cancelled' | 'full'

/**
 * Puts a user's input into the inbox, and with `wake` makes the session due. The same id with the same digest returns
 * the first item, even if it is a message by now, and with `wake` makes the session due nevertheless: an interrupt may
 * have parked other inputs.
 */
export function admitPrompt(
  revision: Revision,
  reads: AdmissionReads,
  { prompt, ...admission }: PromptAdmission,
): PromptItem | NotAdmitted {
  return admit(revision, reads, admission, (base) => ({ type: 'prompt', ...base, prompt }))
}

/** Puts a synthetic text into the inbox, as `admitPrompt` does an input. */
export function admitSynthetic(
  revision: Revision,
  reads: AdmissionReads,
  { synthetic, ...admission }: SyntheticAdmission,
): SyntheticItem | NotAdmitted {
  return admit(revision, reads, admission, (base) => ({ type: 'synthetic', ...base, synthetic }))
}

/** Puts a move into the inbox, as `admitPrompt` does an input. */
export function admitMove(
  revision: Revision,
  reads: AdmissionReads,
  { move, ...admission }: MoveAdmission,
): MoveItem | NotAdmitted {
  return admit(revision, reads, admission, (base) => ({ type: 'move', ...base, move }))
}

/** What a compaction depends on, besides the state of the session. */
export interface CompactionReads extends AdmissionReads {
  /** The compaction that waits. */
  readonly waiting: WaitingInput | undefined
}

/**
 * Puts a compaction into the inbox, as `admitPrompt` does an input; where one waits, wakes the session and returns
 * that.
 */
export function admitCompaction(
  revision: Revision,
  { taken, full, waiting }: CompactionReads,
  admission: CompactionAdmission,
): CompactionItem | NotAdmitted {
  if (taken === undefined && waiting?.item.type === 'compaction') {
    if (admission.wake) wake(revision)
    return waiting.item
  }
  return admit(revision, { taken, full }, admission, (base) => ({ type: 'compaction', ...base, compaction: {} }))
}

type Base = Pick<InboxItem, 'id' | 'sessionId' | 'delivery' | 'timeCreated'>

function admit<I extends InboxItem>(
  revision: Revision,
  { taken, full }: AdmissionReads,
  { id, delivery, digest, admitter, wake: wakes }: Admission,
  make: (base: Base) => I,
): I | NotAdmitted {
  const sessionId = revision.state.sessionId
  const item = make({ id, sessionId, delivery, timeCreated: revision.now })
  const isSame = (other: InboxItem): other is I => other.type === item.type
  if (taken !== undefined) {
    const { input } = taken
    if (taken.sessionId !== sessionId || input === undefined) return 'taken'
    if (input.state === 'cancelled') return 'cancelled'
    if (input.digest !== digest || !isSame(input.item)) return 'taken'
    if (wakes) wake(revision)
    return input.item
  }
  if (full) return 'full'
  if (wakes) wake(revision)
  revision.writes.push({ type: 'admit', seq: revision.nextSeq(), item, digest, admitter })
  revision.event({ type: 'inbox-enqueued', item })
  revision.touch()
  return item
}
