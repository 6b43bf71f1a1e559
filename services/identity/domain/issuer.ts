import type { RecordHead } from './revise.ts'

/** Where the keys of an issuer come from. `jwks`: the key set itself, as the JSON text that was saved. */
export type KeySource =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'inline'; readonly jwks: string }

/** What an organization says about an issuer. */
export interface IssuerSettings {
  readonly name: string
  /** Compared with `iss` character by character. */
  readonly url: string
  readonly keySource: KeySource
  /** Whether each `jti` is accepted only once. */
  readonly singleUse: boolean
  /** Maximum age in seconds since `iat`; undefined: `iat` is not required. */
  readonly maxAgeSeconds: number | undefined
}

/** An identity provider whose tokens an organization accepts. */
export interface Issuer extends RecordHead, IssuerSettings {}

/** The results of fetching the keys of an issuer. Times are milliseconds since the epoch; undefined: never. */
export interface KeyHealth {
  readonly timeSucceeded: number | undefined
  readonly timeFailed: number | undefined
  /** Why the last failed fetch failed, in one line for an admin; undefined: none failed. */
  readonly failure: string | undefined
  /** Nobody fetches again before that time; undefined: keys are fetched when they are needed. */
  readonly timeNextTry: number | undefined
}

/** Maximum number of issuers of an organization. */
export const MAX_ISSUERS = 100
