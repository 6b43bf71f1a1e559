import type { PolicySettings } from '#gen/portico/identity/v1/federation_pb.js'
import { check, invalid } from '#shared/rpc/parse.ts'
import { MAX_POLICIES } from '../domain/policy.ts'
import { type SharedIssuers, sharedIssuerWarning } from '../domain/shared-issuer.ts'
import type { Conditions } from '../ports/conditions.ts'
import type { FederationStore } from '../ports/federation-store.ts'

/** What checks of a policy's issuer need. */
export interface IssuerGuard {
  readonly federation: Pick<FederationStore, 'getIssuer'>
  readonly conditions: Conditions
  readonly sharedIssuers: SharedIssuers
}

type Pinning = Pick<PolicySettings, 'subject' | 'condition'>

/** The address of a policy's issuer. Rejects with REQUEST_INVALID if the organization has no such issuer. */
export async function issuerUrlOf(
  { federation }: Pick<IssuerGuard, 'federation'>,
  organizationId: string,
  issuerId: string,
): Promise<string> {
  const issuer = await federation.getIssuer(organizationId, issuerId)
  check(issuer !== undefined, 'issuer_id', 'must be the id of an issuer of the organization')
  return issuer.settings.issuerUrl
}

/** Policies of an issuer that would be unwise if it had this address, and why. */
export async function unwisePolicies(
  { federation, conditions }: { federation: Pick<FederationStore, 'listPolicies'>; conditions: Conditions },
  { organizationId, issuerId }: { readonly organizationId: string; readonly issuerId: string },
  issuerUrl: string,
): Promise<{ policyId: string; warning: string }[]> {
  if (sharedIssuerWarning(issuerUrl, () => false) === undefined) return []
  const { items } = await federation.listPolicies(organizationId, { offset: 0, limit: MAX_POLICIES }, issuerId)
  return items.flatMap(({ policyId, settings }) => {
    const warning = warningOf(conditions, issuerUrl, settings)
    return warning === undefined ? [] : [{ policyId, warning }]
  })
}

/**
 * Warnings about a policy, for people. Rejects with REQUEST_INVALID if the operator refuses such policies. `issuerUrl`
 * is undefined if the issuer was deleted.
 */
export function warningsOf(
  { conditions, sharedIssuers }: Omit<IssuerGuard, 'federation'>,
  issuerUrl: string | undefined,
  settings: Pinning,
): string[] {
  const warning = issuerUrl === undefined ? undefined : warningOf(conditions, issuerUrl, settings)
  if (warning === undefined) return []
  if (sharedIssuers === 'refuse') throw invalid('subject', `must be set, or the condition must restrict it: ${warning}`)
  return [warning]
}

function warningOf(conditions: Conditions, issuerUrl: string, { subject, condition }: Pinning): string | undefined {
  const read = condition === undefined ? undefined : conditions.read(condition)
  return sharedIssuerWarning(
    issuerUrl,
    (names) => subject !== undefined || (read !== undefined && 'pinsSubject' in read && read.pinsSubject(names)),
  )
}
