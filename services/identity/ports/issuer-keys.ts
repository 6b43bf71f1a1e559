import type { IssuerSettings } from '#gen/portico/identity/v1/federation_pb.js'
import type { Issuer } from '../domain/issuer.ts'
import type { PublicKey, SignatureAlgorithm } from '../domain/public-key.ts'

/** What the header of a token says about its key. */
export interface KeyHint {
  readonly algorithm: SignatureAlgorithm
  /** Any text; undefined: the token has none, and is accepted only if exactly one key fits. */
  readonly kid: string | undefined
}

/**
 * `found`: the keys that may have signed the token, at most 4; none: the issuer has no such key; `waited`: they had to
 * be fetched first. `unavailable`: it is unknown, since the keys could not be fetched; `problem` is one line for an
 * admin and contains no secret.
 */
export type IssuerKeyAnswer =
  | { readonly kind: 'found'; readonly keys: readonly PublicKey[]; readonly waited: boolean }
  | { readonly kind: 'unavailable'; readonly problem: string; readonly retryAfterSeconds: number }

/**
 * Why an issuer cannot be saved: `field` is that of the proto's IssuerSettings, `problem` completes a sentence that
 * begins with it.
 */
export interface IssuerProblem {
  readonly field: 'issuer_url' | 'jwks_url' | 'jwks'
  readonly problem: string
}

/**
 * The public keys of issuers: inline, from a URL, or by discovery. They are cached per organization, issuer and
 * revision of the issuer. All fetches obey the same limits (addresses, sizes, time, concurrency), and callers that wait
 * for the same keys share one.
 */
export interface IssuerKeys {
  /**
   * The keys that may have signed a token. Never throws because of what an issuer says or does, and never waits for
   * more than 6 s. If keys are known, it waits for newer ones for at most 100 ms, which does not count as waiting. A
   * key remains the same object while it is cached, so that values derived from it can be cached as well.
   */
  candidates(issuer: Issuer, hint: KeyHint): Promise<IssuerKeyAnswer>
  /**
   * Drops the keys of a deleted issuer; fetches for it that have not begun are cancelled, and whoever waits for them
   * gets `unavailable`.
   */
  forget(issuer: Pick<Issuer, 'organizationId' | 'issuerId'>): void
  /**
   * Why an issuer cannot be saved: because of its addresses (including our own origin) or its inline key set.
   * Undefined: it can. Pure: it makes no network calls. Lengths were checked before.
   */
  problemOf(settings: IssuerSettings): IssuerProblem | undefined
}
