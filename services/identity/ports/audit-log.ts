import type { AuditEntry } from '#gen/portico/identity/v1/federation_pb.js'
import type { ListAuditEntriesRequest } from '#gen/portico/identity/v1/federation_service_pb.js'

/** Selects entries as the request does; an absent member selects all. */
export type AuditFilter = Pick<
  ListAuditEntriesRequest,
  'kind' | 'policyId' | 'issuerId' | 'keyId' | 'reason' | 'subject' | 'since' | 'until'
>

/** A token of an issuer, by its `jti` of any length and form. */
export interface TokenUse {
  readonly issuerId: string
  readonly jti: string
  /** When the token expires, in milliseconds since the epoch; fractions count, as they do in `exp`. */
  readonly timeExpires: number
}

/**
 * The events of organizations. Entries are never changed, and removed only once they are older than the retention
 * period: the port offers nothing else, and SQLite itself refuses it.
 *
 * A counter of the organization gives each entry its position; later entries have higher positions, with gaps. An entry
 * that another process is writing may appear below one that was read already. Times need not rise with positions: a
 * count is written late, and the clocks of processes differ.
 */
export interface AuditLog {
  /**
   * Writes an entry; resolves when it is durable and survives a power cut, which whoever issues an access token waits
   * for. Rejects if that is not certain; the entry may exist nevertheless. Entries that are appended together share one
   * commit (SQLite: a turn of the event loop; MongoDB: one unordered bulk write with majority, in which a failure does
   * not affect the others).
   */
  append(entry: AuditEntry): Promise<void>
  /**
   * Writes the entry of an exchange and claims the exchanged token, in one commit. Like `append`, but returns false,
   * and writes nothing, if the token was claimed before. Of any number of calls for one token, even concurrent ones
   * from several processes, exactly one returns true. A claim is kept for at least 24 hours after the token has
   * expired; by then it is refused anyway, unless a clock that was ahead has stepped back.
   */
  appendOnce(entry: AuditEntry, use: TokenUse): Promise<boolean>
  /** Newest first, before a position (undefined: from the newest); at most `limit` (1 or more). */
  list(
    organizationId: string,
    filter: AuditFilter,
    before: number | undefined,
    limit: number,
  ): Promise<{ items: AuditEntry[]; more: boolean }>
  /**
   * Removes entries of all organizations from before a time, in milliseconds since the epoch, at most `limit` (1 or
   * more) per call. Returns how many. What is known about policies that were deleted before that time is removed with
   * them.
   */
  expire(before: number, limit: number): Promise<number>
}
