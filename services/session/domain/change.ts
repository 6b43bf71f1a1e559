import type { SessionState } from './session-state.ts'
import type { Write } from './write.ts'

/**
 * The kinds of changes of a session that others wait for. `work`: its lease may be acquired. `run`: a run became due,
 * began or ended, or a lease was given back. `interrupt`: an interrupt was requested. `permission`: a request was made
 * or answered.
 */
export type ChangeKind = 'work' | 'run' | 'interrupt' | 'permission'

export const ALL_CHANGES: readonly ChangeKind[] = ['work', 'run', 'interrupt', 'permission']

/** The kinds of changes that a revision contains. Most writes of a run contain none. */
export function changesBy(
  before: SessionState,
  after: SessionState,
  writes: readonly Write[],
  leaseNow: number,
): readonly ChangeKind[] {
  const changes: ChangeKind[] = []
  if (after.claimableAt !== undefined && after.claimableAt <= leaseNow) changes.push('work')
  const isGivenBack = before.leaseUntil !== 0 && after.leaseUntil === 0
  if (before.running !== after.running || before.due !== after.due || isGivenBack) changes.push('run')
  if (before.interruptRequested !== after.interruptRequested) changes.push('interrupt')
  if (writes.some(({ type }) => type === 'request' || type === 'answer')) changes.push('permission')
  return changes
}
