import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { MAX_POLICIES } from '#services/identity/domain/policy.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { IdentityStore } from '#services/identity/ports/identity-store.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { check } from '#shared/rpc/parse.ts'
import { adminOf, byOf, requirePlan } from '../parse.ts'
import { parsePolicySettings, parseTarget } from './parse.ts'
import { type IssuerGuard, issuerUrlOf, warningsOf } from './shared-issuers.ts'
import { shownPolicy } from './shown-policies.ts'

export function createPolicy(
  dependencies: IssuerGuard & {
    readonly federation: FederationStore
    readonly organizations: OrganizationStore
    readonly store: IdentityStore
    readonly clock: Clock
  },
): ServiceImpl<typeof FederationService>['createPolicy'] {
  const { federation, organizations, store, conditions, clock } = dependencies
  return async ({ organizationId, settings }, context) => {
    const admin = adminOf(context, organizationId)
    check(settings !== undefined, 'settings', 'must be set')
    parsePolicySettings(settings, '', conditions)
    await requirePlan(organizations, organizationId)
    const issuerUrl = await issuerUrlOf(dependencies, organizationId, settings.issuerId)
    const workspaceId = await parseTarget(store, organizationId, settings.keyId)
    const parsed = parsePolicySettings(settings, workspaceId, conditions)
    const warnings = warningsOf(dependencies, issuerUrl, parsed)
    const decide = (count: number) => {
      if (count >= MAX_POLICIES) throw new Rejection('TOO_MANY_POLICIES', { most: `${MAX_POLICIES}` })
      return parsed
    }
    const policy = await federation.createPolicy(organizationId, randomUUID(), decide, byOf(admin, clock))
    return { policy: await shownPolicy(federation, policy), warnings }
  }
}
