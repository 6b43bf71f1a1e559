import { auditLogSuite } from './audit-log.suite.ts'
import { federationStoreSuite } from './federation-store.suite.ts'
import { identityStoreSuite } from './identity-store.suite.ts'
import type { MakePlace, SuiteOptions } from './identity-store.support.ts'
import { keyTermsSuite } from './key-terms.suite.ts'
import { organizationStoreSuite } from './organization-store.suite.ts'
import { replayClaimsSuite } from './replay-claims.suite.ts'

/** What the ports of the identity service's stores promise, on any adapter. */
export function identitySuites(name: string, make: MakePlace, options: SuiteOptions): void {
  identityStoreSuite(name, make, options)
  keyTermsSuite(name, make, options)
  organizationStoreSuite(name, make, options)
  federationStoreSuite(name, make, options)
  auditLogSuite(name, make, options)
  replayClaimsSuite(name, make, options)
}
