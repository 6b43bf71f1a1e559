import type { AuditLog } from './audit-log.ts'
import type { ExchangeCounts } from './exchange-counts.ts'
import type { FederationStore } from './federation-store.ts'
import type { IdentityStore } from './identity-store.ts'
import type { IssuerHealth } from './issuer-health.ts'
import type { OrganizationStore } from './organization-store.ts'
import type { SigningKeys } from './signing-keys.ts'

/** The ports behind which the identity service stores things. */
export interface Ports {
  readonly identity: IdentityStore
  readonly organizations: OrganizationStore
  readonly federation: FederationStore
  readonly issuerHealth: IssuerHealth
  readonly auditLog: AuditLog
  readonly signingKeys: SigningKeys
  readonly exchangeCounts: ExchangeCounts
}

/**
 * All that the identity service stores, in one place: writes of different ports that are made at once share a commit where the place
 * has such. Several processes may have it open.
 */
export interface Stores extends Ports, AsyncDisposable {
  /** Writes something small of its own, as a sign that the place can be written. */
  probe(): Promise<void>
}
