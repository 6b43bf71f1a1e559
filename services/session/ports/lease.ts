/** Identifies a session. With a fence, operations are done under that lease. */
export interface SessionKey {
  readonly workspace: string
  readonly sessionId: string
  readonly fence?: number
}

/** The right to drain one session, until it expires or a newer fence exists. */
export interface Lease extends SessionKey {
  readonly fence: number
}

export interface AcquiredLease extends Lease {
  /** A run began under an older fence and never ended: take over before anything else. */
  readonly unfinished: boolean
  /**
   * How many leases of the session were acquired, including this one, since it last made progress: since a step was
   * completed without an error, or a run ended. Leases that were given back do not count.
   */
  readonly acquisitions: number
  /** When the previous lease ended, by the clock that measures leases; 0: it was given back, or voided. */
  readonly heldUntil: number
}

/** What a drain has to learn between its writes. */
export interface LeaseState {
  /** Somebody requested that the run be interrupted. */
  readonly interruptRequested: boolean
}
