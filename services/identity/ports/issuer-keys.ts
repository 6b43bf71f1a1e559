import type { Issuer, IssuerSettings } from '../domain/issuer.ts'
import type { PublicKey, SignatureAlgorithm } from '../domain/public-key.ts'

/** What the header of a token says of its key. */
export interface KeyHint {
  readonly algorithm: SignatureAlgorithm
  /** Any text; undefined: the token has none, and is taken only where one key fits. */
  readonly kid: string | undefined
}

/**
 * `found`: the keys that may have signed the token, at most 4; none: the issuer has no such key; `waited`: they had to be fetched first.
 * `unavailable`: nobody knows, since its keys could not be fetched; `problem` is a line for an admin and names no secret.
 */
export type IssuerKeyAnswer =
  | { readonly kind: 'found'; readonly keys: readonly PublicKey[]; readonly waited: boolean }
  | { readonly kind: 'unavailable'; readonly problem: string; readonly retryAfterSeconds: number }

/** Why an issuer can't be saved: `field` is that of the proto's IssuerSettings, `problem` completes a sentence that begins with it. */
export interface IssuerProblem {
  readonly field: 'issuer_url' | 'jwks_url' | 'jwks'
  readonly problem: string
}

/**
 * The public keys of issuers: inline, from a URL, or by discovery. They are kept per organization, issuer and revision of the issuer,
 * and fetched under one set of rules (addresses, sizes, time, how many at once), by one fetch for all who wait for the same.
 */
export interface IssuerKeys {
  /**
   * The keys that may have signed a token. Never throws for what an issuer says or does, nor waits longer than 6 s; for newer keys than those
   * that are known no longer than 100 ms, which does not count as waiting. A key is the same object for as long as it is kept, so that what was made
   * of it can be kept beside it.
   */
  candidates(issuer: Issuer, hint: KeyHint): Promise<IssuerKeyAnswer>
  /** Forgets the keys of an issuer that was deleted; what waits to be fetched for it is fetched no more, and is unavailable. */
  forget(issuer: { readonly organizationId: string; readonly id: string }): void
  /**
   * Why an issuer can't be saved as it is: its addresses (also our own origin) or its inline key set. Undefined: it can. Pure: the network
   * is never called. Lengths are checked before.
   */
  problemOf(settings: IssuerSettings): IssuerProblem | undefined
}
