import type { SessionState } from './session-state.ts'
import type { Write } from './write.ts'

/**
 * What of a session changed, for those who wait for it. `work`: its lease may be acquired. `run`: a run became due, began or
 * ended, or a lease was given back. `interrupt`: an interrupt was requested. `permission`: a request was made or answered.
 */
export type ChangeKind = 'work' | 'run' | 'interrupt' | 'permission'

export const ALL_CHANGES: readonly ChangeKind[] = ['work', 'run', 'interrupt', 'permission']

/** What a revision changes for those who wait; a lease that lives keeps its session's own writes out of it. */
export function changesBy(
  before: SessionState,
  after: SessionState,
  writes: readonly Write[],
  leaseNow: number,
): readonly ChangeKind[] {
  const changes: ChangeKind[] = []
  if (after.claimableAt !== undefined && after.claimableAt <= leaseNow) changes.push('work')
  const given = before.leaseUntil !== 0 && after.leaseUntil === 0
  if (before.running !== after.running || before.due !== after.due || given) changes.push('run')
  if (before.interruptRequested !== after.interruptRequested) changes.push('interrupt')
  if (writes.some(({ type }) => type === 'request' || type === 'answer')) changes.push('permission')
  return changes
}
