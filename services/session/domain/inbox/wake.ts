import type { Admitter } from '../inbox.ts'
import type { Revision } from '../revision.ts'

/** Makes the session due, so that all waiting items have their turn. Earlier requests remain in force. */
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
 * Makes the session due, and continues its last run if that was interrupted or failed, on the account of the caller. If
 * a run has not ended, the resume joins it; if that run is being stopped, it is continued afterwards.
 */
export function resumeRun(revision: Revision, resumer: Admitter): void {
  revision.set({ due: true, wake: { at: revision.leaseNow, steersOnly: false, resume: true, resumer } })
}

/** Called when a run ends by itself: a resume in the meantime has joined it. */
export function endJoined(revision: Revision): void {
  const { wake } = revision.state
  if (wake?.resume === true) revision.set({ wake: { ...wake, resume: false, resumer: undefined } })
}

/** Parks waiting items: they stay in the inbox until the session is woken. */
export function parkInputs(revision: Revision): void {
  if (revision.state.due) revision.set({ due: false })
}
