import type { AuditLog } from './audit-log.ts'
import type { ExchangeCounts } from './exchange-counts.ts'
import type { FederationStore } from './federation-store.ts'
import type { IdentityStore } from './identity-store.ts'
import type { IssuerHealth } from './issuer-health.ts'
import type { OrganizationStore } from './organization-store.ts'
import type { SigningKeys } from './signing-keys.ts'

/** The ports through which the identity service stores data. */
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
 * Everything that the identity service stores, in one place: concurrent writes of different ports share a commit if the
 * place supports that. Several processes may have it open.
 */
export interface Stores extends Ports, AsyncDisposable {
  /** Writes something small of its own, to check that the place can be written. */
  probe(): Promise<void>
}
