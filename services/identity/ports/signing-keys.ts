import type { SigningKey } from '../domain/signing-key.ts'

/**
 * The keys that sign access tokens, shared by all processes; there are few. Private keys are encrypted before they
 * reach it, with a key that it never has.
 */
export interface SigningKeys {
  /** In order of creation, as committed when it was called, by any process. */
  list(): Promise<readonly SigningKey[]>

  /**
   * Replaces all keys by the result of `decide`, which is pure and synchronous and may run again; undefined: nothing is
   * written. Of any number of concurrent calls, also from several processes, each decides on the result of the one
   * before it. Returns the keys afterwards; what was written is durable by then.
   */
  revise(decide: (keys: readonly SigningKey[]) => readonly SigningKey[] | undefined): Promise<readonly SigningKey[]>
}
