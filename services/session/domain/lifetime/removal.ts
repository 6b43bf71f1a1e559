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

/** What the removal of a session depends on. */
export type RemovedState = Pick<SessionState, 'directory' | 'running' | 'leaseUntil' | 'fence' | 'seq' | 'lastAdmitter'>

/** The tool calls that the removal of a session leaves; undefined where none can run. */
export function leftTools({ running, leaseUntil, fence, lastAdmitter }: RemovedState): LeftTools | undefined {
  if ((!running && leaseUntil === 0) || lastAdmitter === undefined) return undefined
  return { fence: fence + 1, admitter: lastAdmitter }
}

/** The event of a removal: the last one of its session, which outlives it. */
export function deletedEvent(
  state: RemovedState,
  ancestors: readonly string[],
  now: number,
  newId: NewId,
): Extract<Write, { type: 'event' }> {
  return {
    type: 'event',
    id: newId('evt'),
    seq: state.seq + 1,
    directory: state.directory,
    timeCreated: now,
    data: { type: 'session-deleted', above: ancestors.length === 0 ? undefined : ancestors },
    part: undefined,
  }
}
