import type { RecordHead } from './revise.ts'

/** What else the claims have to hold; undefined: not checked. */
export interface ClaimChecks {
  /** One of the entries of `scopes`. */
  readonly scope: string | undefined
  /** Equals `token_type`. */
  readonly tokenType: string | undefined
}

/** What an organization says about a policy. It has a subject, a condition or both. */
export interface PolicySettings {
  readonly name: string
  readonly issuerId: string
  readonly subject: string | undefined
  readonly audience: string
  /** The text of a CEL expression. */
  readonly condition: string | undefined
  /** The workspace key that an access token acts as. */
  readonly target: { readonly workspaceId: string; readonly keyId: string }
  readonly enabled: boolean
  readonly checks: ClaimChecks
}

/** Says which tokens of an issuer are exchanged, and for which key. */
export interface Policy extends RecordHead, PolicySettings {
  /** A UUID; no two organizations have the same. */
  readonly id: string
}

/** Most policies of one organization. */
export const MAX_POLICIES = 1_000
