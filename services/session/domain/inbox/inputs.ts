import { create } from '@bufbuild/protobuf'
import { type InboxItem, InboxItemSchema } from '#gen/portico/session/v1/session_pb.js'
import type { Admission, AdmissionReads, InboxEntry } from '../inbox.ts'
import type { Revision } from '../revision.ts'
import { wake } from './wake.ts'

/** Why an id is not admitted: it names something else, or a cancelled item; or it is new, and the inbox is full. */
export type NotAdmitted = 'taken' | 'cancelled' | 'full'

/**
 * Puts an item into the inbox, and with `wake` makes the session due. The same id with the same digest returns the
 * first item, even if it is a message by now, and with `wake` makes the session due nevertheless: an interrupt may have
 * parked other inputs.
 */
export function admit(
  revision: Revision,
  { taken, full }: AdmissionReads,
  { id, payload, delivery, digest, admitter, wake: wakes }: Admission,
): InboxItem | NotAdmitted {
  const { sessionId } = revision.state
  if (taken !== undefined) {
    const { input } = taken
    if (taken.sessionId !== sessionId || input === undefined) return 'taken'
    if (input.state === 'cancelled') return 'cancelled'
    if (input.digest !== digest || input.item.payload.case !== payload.case) return 'taken'
    if (wakes) wake(revision)
    return input.item
  }
  if (full) return 'full'
  if (wakes) wake(revision)
  const item = create(InboxItemSchema, { messageId: id, sessionId, createTime: revision.now, delivery, payload })
  revision.writes.push({ type: 'admit', seq: revision.nextSeq(), item, digest, admitter })
  revision.event({ case: 'inboxEnqueued', value: { item } })
  revision.touch()
  return item
}

/** What a compaction depends on, besides the state of the session. */
export interface CompactionReads extends AdmissionReads {
  /** The compaction that waits. */
  readonly waiting: InboxEntry | undefined
}

/** Puts a compaction into the inbox; where one waits, wakes the session and returns that. */
export function admitCompaction(
  revision: Revision,
  { waiting, ...reads }: CompactionReads,
  admission: Admission,
): InboxItem | NotAdmitted {
  if (reads.taken !== undefined || waiting === undefined) return admit(revision, reads, admission)
  if (admission.wake) wake(revision)
  return waiting.item
}
