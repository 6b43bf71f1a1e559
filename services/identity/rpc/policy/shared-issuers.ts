import type { PolicySettings } from '#services/identity/domain/policy.ts'
import { type SharedIssuers, sharedIssuerWarning } from '#services/identity/domain/shared-issuer.ts'
import type { Conditions } from '#services/identity/ports/conditions.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import { check, invalid } from '#shared/rpc/parse.ts'

/** What looking at the issuer of a policy needs. */
export interface IssuerGuard {
  readonly federation: Pick<FederationStore, 'getIssuer'>
  readonly conditions: Conditions
  readonly sharedIssuers: SharedIssuers
}

/** The address of a policy's issuer. Rejects with REQUEST_INVALID when the organization has no such issuer. */
export async function issuerUrlOf(
  { federation }: Pick<IssuerGuard, 'federation'>,
  organizationId: string,
  issuerId: string,
): Promise<string> {
  const found = await federation.getIssuer(organizationId, issuerId)
  check(found !== undefined, 'issuer_id', 'must be the id of an issuer of the organization')
  return found.issuer.url
}

/**
 * What is unwise about a policy, for people. Rejects with REQUEST_INVALID where the operator has it refused. `issuerUrl` is undefined
 * where the issuer has been deleted.
 */
export function warningsOf(
  { conditions, sharedIssuers }: Omit<IssuerGuard, 'federation'>,
  issuerUrl: string | undefined,
  { subject, condition }: Pick<PolicySettings, 'subject' | 'condition'>,
): string[] {
  const read = condition === undefined ? undefined : conditions.read(condition)
  const pinned = subject !== undefined || (read !== undefined && 'usesSubject' in read && read.usesSubject)
  const warning = issuerUrl === undefined ? undefined : sharedIssuerWarning(issuerUrl, pinned)
  if (warning === undefined) return []
  if (sharedIssuers === 'refuse') throw invalid('subject', `must be set, or the condition must look at it: ${warning}`)
  return [warning]
}
