import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { SharedIssuers } from './domain/shared-issuer.ts'
import type { IdentityStore } from './ports/identity-store.ts'
import type { Ports } from './ports/stores.ts'
import { reasons } from './reasons.ts'
import { listAuditEntries } from './rpc/audit/list-audit-entries.ts'
import { authenticate } from './rpc/authenticate.ts'
import { checkApiKey } from './rpc/check-api-key.ts'
import { createApiKey } from './rpc/create-api-key.ts'
import { deleteApiKey } from './rpc/delete-api-key.ts'
import { countExchanges } from './rpc/federation/count-exchanges.ts'
import { exchangeToken } from './rpc/federation/exchange-token.ts'
import { getApiKey } from './rpc/get-api-key.ts'
import { createIssuer } from './rpc/issuer/create-issuer.ts'
import { deleteIssuer } from './rpc/issuer/delete-issuer.ts'
import { getIssuer } from './rpc/issuer/get-issuer.ts'
import { listIssuers } from './rpc/issuer/list-issuers.ts'
import { updateIssuer } from './rpc/issuer/update-issuer.ts'
import { listApiKeys } from './rpc/list-api-keys.ts'
import { createOrganization } from './rpc/organization/create-organization.ts'
import { listOrganizations } from './rpc/organization/list-organizations.ts'
import { updateOrganizationPlan } from './rpc/organization/update-organization-plan.ts'
import { addPolicyCheck } from './rpc/policy/add-policy-check.ts'
import { createPolicy } from './rpc/policy/create-policy.ts'
import { deletePolicy } from './rpc/policy/delete-policy.ts'
import { getPolicy } from './rpc/policy/get-policy.ts'
import { listPolicies } from './rpc/policy/list-policies.ts'
import { pausePolicy } from './rpc/policy/pause-policy.ts'
import { removePolicyCheck } from './rpc/policy/remove-policy-check.ts'
import { resumePolicy } from './rpc/policy/resume-policy.ts'
import { testPolicy } from './rpc/policy/test-policy.ts'
import { updatePolicy } from './rpc/policy/update-policy.ts'
import { setWorkspaceLimit } from './rpc/set-workspace-limit.ts'
import { listSigningKeys } from './rpc/signing-key/list-signing-keys.ts'
import { rotateSigningKey } from './rpc/signing-key/rotate-signing-key.ts'
import { updateApiKey } from './rpc/update-api-key.ts'
import type { AccessTokens } from './run/access-token/access-tokens.ts'
import type { KeyRing } from './run/access-token/key-ring.ts'
import type { Exchanges } from './run/exchange/exchanges.ts'

/** What the handlers need. */
export interface HandlerDependencies extends Omit<Ports, 'identity'>, Exchanges {
  readonly store: IdentityStore
  readonly sharedIssuers: SharedIssuers
  readonly ring: KeyRing
  readonly tokens: AccessTokens
  readonly clock: Clock
  /** Where the local operator acts. */
  readonly bootstrap: { readonly organizationId: string; readonly workspaceId: string }
}

/** The routes of the identity service. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const identity = route(IdentityService, {
    authenticate: authenticate(dependencies),
    checkApiKey: checkApiKey(dependencies),
    createApiKey: createApiKey(dependencies),
    getApiKey: getApiKey(dependencies),
    listApiKeys: listApiKeys(dependencies),
    updateApiKey: updateApiKey(dependencies),
    deleteApiKey: deleteApiKey(dependencies),
    setWorkspaceLimit: setWorkspaceLimit(dependencies),
  })
  const federation = route(FederationService, {
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
  })
  return { domain: 'identity', reasons, services: [identity, federation] }
}
