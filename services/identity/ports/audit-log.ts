import type { AuditEntry } from '../domain/audit.ts'

/** An entry and its place in the order of its organization. */
export interface ListedAuditEntry {
  readonly position: number
  readonly entry: AuditEntry
}

/** Which entries are wanted; what is left out does not choose. Times are milliseconds since the epoch. */
export interface AuditFilter {
  /** `exchange-refused`: the counted ones too. */
  readonly kind?: 'exchange-accepted' | 'exchange-refused' | 'changed' | undefined
  /** About this policy: exchanges by it and changes of it. */
  readonly policyId?: string | undefined
  /** About this issuer: exchanges of its tokens and changes of it. */
  readonly issuerId?: string | undefined
  /** About this key: exchanges of policies that target it and changes of it. */
  readonly keyId?: string | undefined
  /** Exchanges that were refused for this reason, the counted ones too. */
  readonly reason?: string | undefined
  /** Exchanges of tokens with this `sub`. */
  readonly subject?: string | undefined
  /** This time and later. */
  readonly since?: number | undefined
  /** Before this time. */
  readonly until?: number | undefined
}

/** A token of an issuer, by its `jti` of any length and form. */
export interface TokenUse {
  readonly issuerId: string
  readonly jti: string
  /** When the token expires, in milliseconds since the epoch; fractions count, as those of `exp` do. */
  readonly timeExpires: number
}

/**
 * What happened in organizations. Entries are never changed, and removed only when they are older than all that is kept: the port has
 * no other way, and SQLite itself refuses any other.
 *
 * A counter of the organization gives each entry its position; later ones have higher positions, with gaps. An entry of another
 * process that is written at this moment may appear below one that was read already. Times need not rise with positions: a count is
 * written late, and clocks of processes differ.
 */
export interface AuditLog {
  /**
   * Writes an entry; resolves when it is durable, so that no power cut takes it back: whoever gives out an access token waits for that.
   * Rejects when that is not known; the entry may be there all the same. Entries that are appended at once share one commit (SQLite: a
   * turn of the event loop; MongoDB: one unordered bulk with majority, in which one failure does not sink its neighbours).
   */
  append(entry: AuditEntry): Promise<void>
  /**
   * Writes the entry of an exchange and claims the token that was exchanged, in one commit: as `append`, but returns false, and has written
   * nothing, where the token was claimed before. Of any number of calls for one token, also at once and from several processes,
   * exactly one returns true. A claim is kept until 24 hours after the token has expired, at least: by then it is refused anyway, unless a
   * clock that was ahead has stepped back.
   */
  appendOnce(entry: AuditEntry, use: TokenUse): Promise<boolean>
  /** Newest first, before a position (undefined: from the newest); at most `limit` (1 or more). */
  list(
    organizationId: string,
    filter: AuditFilter,
    before: number | undefined,
    limit: number,
  ): Promise<{ items: readonly ListedAuditEntry[]; more: boolean }>
  /**
   * Removes entries of all organizations from before a time, in milliseconds since the epoch: at most `limit` (1 or more) in one call.
   * Returns how many. What is known of policies that were deleted before that time goes with them.
   */
  expire(before: number, limit: number): Promise<number>
}
