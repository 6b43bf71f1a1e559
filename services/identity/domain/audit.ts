import type { JsonObject } from '#shared/json.ts'
import type { TokenTarget } from './access-token.ts'

/** An access token was issued. */
export interface ExchangeAccepted {
  readonly type: 'exchange-accepted'
  readonly policyId: string
  readonly policyRevision: number
  readonly issuerId: string
  readonly issuerRevision: number
  /** The key that the token acts as. */
  readonly target: TokenTarget
  /** `sub` of the exchanged token. */
  readonly subject: string
  /** `jti` of the access token. */
  readonly tokenId: string
  /** When the access token expires, in milliseconds since the epoch. */
  readonly timeExpires: number
  /** Where the request came from, according to the gateway; never longer than 64 characters. */
  readonly clientNetwork: string
}

/** An exchange by a known policy was refused. */
export interface ExchangeRefused {
  readonly type: 'exchange-refused'
  readonly policyId: string
  /** Undefined: the issuer of the policy was deleted. */
  readonly issuerId?: string
  /** The true reason. */
  readonly reason: string
  /** What was found instead of what is required; parts of the token appear only if its signature was verified. */
  readonly found?: string
  readonly clientNetwork: string
  /** The key that the policy targets; undefined if it was not known, or if the entry is older than this member. */
  readonly target?: TokenTarget
  /** `sub` of the token; undefined if its signature was not verified, or if the entry is older than this member. */
  readonly subject?: string
}

/**
 * More exchanges were refused for one reason than are recorded individually. Times are milliseconds since the epoch.
 */
export interface ExchangesRefused {
  readonly type: 'exchanges-refused'
  readonly policyId: string
  readonly issuerId?: string
  readonly reason: string
  readonly count: number
  readonly timeFirst: number
  readonly timeLast: number
  /** As in {@link ExchangeRefused}. */
  readonly target?: TokenTarget
}

/** What can be changed. */
export type AuditedResource = 'issuer' | 'policy' | 'api-key' | 'organization' | 'workspace'

/**
 * Somebody changed something. The states before and after never contain a secret; an inline key set is represented by
 * its digest.
 */
export interface Changed {
  readonly type: 'changed'
  /** As in {@link By}. */
  readonly actorKeyId?: string
  readonly resource: AuditedResource
  readonly resourceId: string
  /** Undefined if it was created. */
  readonly before?: JsonObject
  /** Undefined if it was deleted. */
  readonly after?: JsonObject
}

/** Who makes a change, and when, in milliseconds since the epoch. */
export interface By {
  /** The key of an admin; undefined: the operator, by the command line or settings. */
  readonly actorKeyId?: string
  readonly time: number
}

export type AuditEvent = ExchangeAccepted | ExchangeRefused | ExchangesRefused | Changed

/** An event in an organization. */
export interface AuditEntry {
  readonly organizationId: string
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly event: AuditEvent
}
