/** Which keys were fetched: those of an issuer as one of its revisions says. */
export interface FetchedIssuer {
  readonly organizationId: string
  readonly issuerId: string
  readonly revision: number
}

/** An attempt to fetch keys. Times are milliseconds since the epoch. */
export interface FetchAttempt {
  /** When it ended. */
  readonly time: number
  /** Why it failed, in a line of at most 300 characters for an admin; undefined: it succeeded. */
  readonly failure: string | undefined
  /** After a failure: before that time nobody fetches again. */
  readonly timeNextTry: number | undefined
}

/**
 * What became of fetching the keys of issuers, shared by all processes. It is shown to admins with the issuer
 * (`FederationStore.getIssuer`) and decides nothing.
 */
export interface IssuerHealth {
  /**
   * Records an attempt: a success beside the last failure, a failure beside the last success. A record of a revision other than the
   * issuer's is ignored, as is one of an issuer that is gone. Nothing is written to the audit log, and no revision raised.
   */
  record(issuer: FetchedIssuer, attempt: FetchAttempt): Promise<void>
}
