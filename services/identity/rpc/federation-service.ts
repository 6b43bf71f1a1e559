import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { SharedIssuers } from '../domain/shared-issuer.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import type { Ports } from '../ports/stores.ts'
import type { AccessTokens } from '../run/access-token/access-tokens.ts'
import type { KeyRing } from '../run/access-token/key-ring.ts'
import type { Exchanges } from '../run/exchange/exchanges.ts'
import { listAuditEntries } from './audit/list-audit-entries.ts'
import { countExchanges } from './federation/count-exchanges.ts'
import { exchangeToken } from './federation/exchange-token.ts'
import { createIssuer } from './issuer/create-issuer.ts'
import { deleteIssuer } from './issuer/delete-issuer.ts'
import { getIssuer } from './issuer/get-issuer.ts'
import { listIssuers } from './issuer/list-issuers.ts'
import { updateIssuer } from './issuer/update-issuer.ts'
import { createOrganization } from './organization/create-organization.ts'
import { listOrganizations } from './organization/list-organizations.ts'
import { updateOrganizationPlan } from './organization/update-organization-plan.ts'
import { addPolicyCheck } from './policy/add-policy-check.ts'
import { createPolicy } from './policy/create-policy.ts'
import { deletePolicy } from './policy/delete-policy.ts'
import { getPolicy } from './policy/get-policy.ts'
import { listPolicies } from './policy/list-policies.ts'
import { pausePolicy } from './policy/pause-policy.ts'
import { removePolicyCheck } from './policy/remove-policy-check.ts'
import { resumePolicy } from './policy/resume-policy.ts'
import { testPolicy } from './policy/test-policy.ts'
import { updatePolicy } from './policy/update-policy.ts'
import { listSigningKeys } from './signing-key/list-signing-keys.ts'
import { rotateSigningKey } from './signing-key/rotate-signing-key.ts'

/** What the handlers of federation need in addition. */
export interface FederationDependencies extends Omit<Ports, 'identity'> {
  readonly store: IdentityStore
  readonly sharedIssuers: SharedIssuers
  readonly ring: KeyRing
  readonly tokens: AccessTokens
  readonly clock: Clock
  /** Where the local operator acts. */
  readonly bootstrap: { readonly organizationId: string; readonly workspaceId: string }
}

/** The handlers of federation. */
export function federationService(
  dependencies: FederationDependencies & Exchanges,
): ServiceImpl<typeof FederationService> {
  return {
    exchangeToken: exchangeToken(dependencies),
    createIssuer: createIssuer(dependencies),
    getIssuer: getIssuer(dependencies),
    listIssuers: listIssuers(dependencies),
    updateIssuer: updateIssuer(dependencies),
    deleteIssuer: deleteIssuer(dependencies),
    createPolicy: createPolicy(dependencies),
    getPolicy: getPolicy(dependencies),
    listPolicies: listPolicies(dependencies),
    updatePolicy: updatePolicy(dependencies),
    deletePolicy: deletePolicy(dependencies),
    pausePolicy: pausePolicy(dependencies),
    resumePolicy: resumePolicy(dependencies),
    addPolicyCheck: addPolicyCheck(dependencies),
    removePolicyCheck: removePolicyCheck(dependencies),
    testPolicy: testPolicy(dependencies),
    listAuditEntries: listAuditEntries(dependencies),
    createOrganization: createOrganization(dependencies),
    listOrganizations: listOrganizations(dependencies),
    updateOrganizationPlan: updateOrganizationPlan(dependencies),
    listSigningKeys: listSigningKeys(dependencies),
    rotateSigningKey: rotateSigningKey(dependencies),
    countExchanges: countExchanges(dependencies),
  }
}
