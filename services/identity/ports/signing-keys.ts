/** A key that access tokens are signed with. Times are milliseconds since the epoch. */
export interface SigningKeyRecord {
  /** Its `kid`; no two keys have the same. */
  readonly kid: string
  /** Coordinates of its point on P-256, base64url. */
  readonly x: string
  readonly y: string
  /** The private half, encrypted by whoever wrote the record; a store never has the key to it. */
  readonly sealed: Uint8Array
  readonly timeCreated: number
  /** From then on tokens are signed with it, until a later key's turn comes. Before, it is only published. */
  readonly timeUsed: number
}

/** The signing keys of all processes. */
export interface SigningKeys {
  /** In the order in which they are used. Returns what was committed when it was called, whichever process wrote it. */
  list(): Promise<readonly SigningKeyRecord[]>
  /**
   * Adds the key that comes after `last`, the `kid` of the last key of `list` (undefined: there is none). Of any number of calls with
   * the same `last`, also at once and from several processes, exactly one adds its key and returns true; the others return
   * false and change nothing. Durable when it returns.
   */
  add(key: SigningKeyRecord, last: string | undefined): Promise<boolean>
  /** Replaces the encrypted private half of a key, when it is still what it was. Returns whether it was. */
  reseal(kid: string, before: Uint8Array, after: Uint8Array): Promise<boolean>
  /** Removes a key that no valid token is signed with any more; one that is gone already is no error. */
  remove(kid: string): Promise<void>
}
