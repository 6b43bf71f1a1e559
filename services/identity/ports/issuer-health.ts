import type { KeyHealth } from '../domain/issuer.ts'

/** Which keys were fetched: those of an issuer as one of its revisions says. */
export interface FetchedIssuer {
  readonly organizationId: string
  readonly issuerId: string
  readonly revision: number
}

/**
 * What became of fetching the keys of issuers, shared by all processes. It is shown to admins with the issuer
 * (`FederationStore.getIssuer`) and decides nothing.
 */
export interface IssuerHealth {
  /**
   * Records an attempt. What is undefined in `health` stays as an earlier record of the same revision, by whichever process, said; except
   * that a success removes the time of the next try. Of two records at once the one with the later times stays. A record of a
   * revision other than the issuer's is ignored, as is one of an issuer that is gone. No entry of the audit log is written, and no
   * revision raised.
   */
  record(issuer: FetchedIssuer, health: KeyHealth): Promise<void>
}
