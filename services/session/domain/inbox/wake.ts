import type { Admitter } from '../inbox.ts'
import type { Revision } from '../revision.ts'

/** Makes the session due: whatever waits has its turn. What was requested before is not forgotten. */
export function wake(revision: Revision): void {
  const { due, wake } = revision.state
  const { resume, resumer } = due && wake?.resume === true ? wake : { resume: false }
  revision.set({ due: true, wake: { at: revision.leaseNow, steersOnly: false, resume, resumer } })
}

/** Makes the session due for steers, and for the control items that are next; queued inputs stay parked. */
export function wakeForSteers(revision: Revision): void {
  revision.set({ due: true, wake: { at: revision.leaseNow, steersOnly: true, resume: false } })
}

/**
 * Makes the session due and has it go on where its last run was interrupted or failed, for the account of whoever resumes it. A run
 * that has not ended is joined, but for one that was stopped before: what it leaves is gone on with.
 */
export function resumeRun(revision: Revision, resumer: Admitter): void {
  revision.set({ due: true, wake: { at: revision.leaseNow, steersOnly: false, resume: true, resumer } })
}

/** A run came to an end that nobody requested: who resumed it meanwhile has joined it. */
export function endJoined(revision: Revision): void {
  const { wake } = revision.state
  if (wake?.resume === true) revision.set({ wake: { ...wake, resume: false, resumer: undefined } })
}

/** What waits stays in the inbox until somebody wakes the session. */
export function parkInputs(revision: Revision): void {
  if (revision.state.due) revision.set({ due: false })
}
