/** A token of an issuer, by its `jti` of any length and form. */
export interface TokenUse {
  readonly organizationId: string
  readonly issuerId: string
  readonly jti: string
}

/** Remembers which tokens were exchanged, for issuers whose tokens pass once. */
export interface ReplayClaims {
  /**
   * Claims a token. Of any number of calls for one, also at once and from several processes, exactly one returns true; the claim is
   * durable when it does. It is kept until 24 hours after the given time at least, in milliseconds since the epoch (fractions count, as
   * those of `exp` do): the end of the token's life and what clocks may differ by. The token is refused by then anyway, unless a clock
   * that was ahead has stepped back. A call that rejects may have claimed.
   */
  claim(use: TokenUse, until: number): Promise<boolean>
}
