import type { RecordHead } from './revise.ts'

/** Further requirements for claims; undefined: not checked. */
export interface ClaimChecks {
  /** Must be one of the entries of `scopes`. */
  readonly scope: string | undefined
  /** Must equal `token_type`. */
  readonly tokenType: string | undefined
}

/** The settings of a policy. It has a subject, a condition or both. */
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

/** Determines which tokens of an issuer are exchanged, and for which key. */
export interface Policy extends RecordHead, PolicySettings {
  /** A UUID, unique across organizations. */
  readonly id: string
}

/** Maximum number of policies of an organization. */
export const MAX_POLICIES = 1_000
