import type { SigningKey } from '../domain/signing-key.ts'

/**
 * The keys that sign access tokens, of all processes together; there are few. A private key reaches it only encrypted, and it never
 * has the key to that.
 */
export interface SigningKeys {
  /** In the order in which they were made, as they were committed when it was called, whichever process wrote them. */
  list(): Promise<readonly SigningKey[]>

  /**
   * Replaces all keys by what `decide` makes of them, which is pure and synchronous and may run again; undefined: nothing is written.
   * Of any number of calls at once, also from several processes, each decides on what the one before it has left. Returns the
   * keys that are there afterwards; what was written is durable by then.
   */
  revise(decide: (keys: readonly SigningKey[]) => readonly SigningKey[] | undefined): Promise<readonly SigningKey[]>
}
