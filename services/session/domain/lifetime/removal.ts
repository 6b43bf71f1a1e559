import { create } from '@bufbuild/protobuf'
import { SessionEventSchema } from '#gen/portico/session/v1/event_pb.js'
import type { Admitter } from '../inbox.ts'
import type { NewId } from '../revision.ts'
import type { SessionState } from '../session-state.ts'
import type { Write } from '../write.ts'

/**
 * Tool calls that may still be running although their session is gone; those under older fencing tokens have to be
 * ended.
 */
export interface LeftTools {
  readonly fence: number
  /** On whose behalf they run. */
  readonly admitter: Admitter
}

export type RemovedState = Pick<
  SessionState,
  'sessionId' | 'directory' | 'running' | 'leaseUntil' | 'fence' | 'seq' | 'lastAdmitter'
>

/** The tool calls that the removal of a session leaves; undefined where none can run. */
export function leftTools({ running, leaseUntil, fence, lastAdmitter }: RemovedState): LeftTools | undefined {
  if ((!running && leaseUntil === 0) || lastAdmitter === undefined) return undefined
  return { fence: fence + 1, admitter: lastAdmitter }
}

/** The event of a removal: the last one of its session, which outlives it. */
export function deletedEvent(
  { sessionId, directory, seq }: RemovedState,
  ancestorIds: readonly string[],
  now: number,
  newId: NewId,
): Extract<Write, { type: 'event' }> {
  const event = create(SessionEventSchema, {
    eventId: newId('evt'),
    createTime: now,
    sessionId,
    directory,
    event: { case: 'sessionDeleted', value: { ancestorIds: [...ancestorIds] } },
  })
  return { type: 'event', seq: seq + 1, event, part: undefined }
}
