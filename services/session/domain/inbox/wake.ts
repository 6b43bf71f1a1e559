import type { Admitter } from '../inbox.ts'
import type { Revision } from '../revision.ts'

/** Makes the session due: whatever waits has its turn. What was asked for before is not forgotten. */
export function wake(revision: Revision): void {
  const { due, wake } = revision.state
  const resume = due && wake?.resume === true
  revision.set({ due: true, wake: { at: revision.leaseNow, steersOnly: false, resume } })
}

/** Makes the session due for steers, and for the control items that are next; queued inputs stay parked. */
export function wakeForSteers(revision: Revision): void {
  revision.set({ due: true, wake: { at: revision.leaseNow, steersOnly: true, resume: false } })
}

/**
 * Makes the session due and, unless a run goes on, has it go on where its last run was interrupted or failed, for the account
 * of whoever asks.
 */
export function resumeRun(revision: Revision, admitter: Admitter): void {
  const { running, interruptRequested } = revision.state
  wake(revision)
  if (running && !interruptRequested) return
  revision.set({ wake: { at: revision.leaseNow, steersOnly: false, resume: true }, lastAdmitter: admitter })
}

/** What waits stays in the inbox until somebody wakes the session. */
export function parkInputs(revision: Revision): void {
  if (revision.state.due) revision.set({ due: false })
}
