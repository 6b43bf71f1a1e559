/** The issuer whose keys were fetched, at one of its revisions. */
export interface FetchedIssuer {
  readonly organizationId: string
  readonly issuerId: string
  readonly revision: number
}

/** An attempt to fetch keys. Times are milliseconds since the epoch. */
export interface FetchAttempt {
  /** When it ended. */
  readonly time: number
  /** Why it failed, in one line of at most 300 characters for an admin; undefined: it succeeded. */
  readonly failure: string | undefined
  /** After a failure: nobody fetches again before that time. */
  readonly timeNextTry: number | undefined
}

/**
 * The results of fetching the keys of issuers, shared by all processes. They are shown to admins with the issuer
 * (`FederationStore.getIssuer`), and decide nothing.
 */
export interface IssuerHealth {
  /**
   * Records an attempt: a success beside the last failure, or a failure beside the last success. Attempts for another
   * revision of the issuer, or for one that is gone, are ignored. Nothing is written to the audit log, and the revision
   * does not change.
   */
  record(issuer: FetchedIssuer, attempt: FetchAttempt): Promise<void>
}
