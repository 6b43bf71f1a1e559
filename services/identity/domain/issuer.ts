import type { RecordHead } from './revise.ts'

/** Where the keys of an issuer come from. `jwks`: the key set itself, as the JSON text that was saved. */
export type KeySource =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'inline'; readonly jwks: string }

/** What an organization says about an issuer. */
export interface IssuerSettings {
  readonly name: string
  /** Compared with `iss` character by character, as it was saved. */
  readonly url: string
  readonly keySource: KeySource
  /** Whether a `jti` passes once. */
  readonly singleUse: boolean
  /** Seconds after `iat`; undefined: `iat` is not needed. */
  readonly maxAgeSeconds: number | undefined
}

/** An identity provider whose tokens an organization accepts. */
export interface Issuer extends RecordHead, IssuerSettings {}

/** How fetching the keys of an issuer went. Times are milliseconds since the epoch; undefined: never. */
export interface KeyHealth {
  readonly timeSucceeded: number | undefined
  readonly timeFailed: number | undefined
  /** Why the last failure was one, in a line for an admin; undefined: there was none. */
  readonly failure: string | undefined
  /** Before that time nobody fetches again; undefined: whenever keys are needed. */
  readonly timeNextTry: number | undefined
}

/** Most issuers of one organization. */
export const MAX_ISSUERS = 100
