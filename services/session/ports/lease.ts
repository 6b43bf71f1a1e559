/** Names a session. With a fence, what is done is done under that lease. */
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
   * How many leases the session was given since it last got on, this one included: since a step was completed without
   * an error, or a run has ended. Those that were given back do not count.
   */
  readonly acquisitions: number
  /** Until when the lease before it lasted, on the clock that leases are measured by; 0: it was given back, or voided. */
  readonly heldUntil: number
}

/** What a drain has to know between its writes. */
export interface LeaseState {
  /** Somebody requested that the run be interrupted. */
  readonly interruptRequested: boolean
}
