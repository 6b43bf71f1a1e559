import type { ServiceImpl } from '@connectrpc/connect'
import {
  CreateOrganizationRequestSchema,
  type FederationService,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import { prefixOf } from '#services/identity/domain/api-key.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import { hashOf, newSecret } from '#services/identity/run/secret.ts'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { byOf, operatorOf } from '../parse.ts'
import { organizationToProto } from './convert.ts'
import { parsePlan } from './parse.ts'

const checkRequest = checkLimits(CreateOrganizationRequestSchema)

/** Creates an organization with a workspace and a management key, whose secret is in this response and nowhere else. */
export function createOrganization(dependencies: {
  readonly organizations: OrganizationStore
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['createOrganization'] {
  const { organizations, clock } = dependencies
  return async (request, context) => {
    const by = byOf(operatorOf(context), clock)
    checkRequest(request)
    const plan = parsePlan(request.plan)
    const secret = newSecret('management')
    const kept = { hash: hashOf(secret), prefix: prefixOf(secret), timeCreated: by.time, timeExpires: undefined }
    const key = { id: randomId('key'), kind: 'management', name: 'first management key', ...kept } as const
    const workspace = { id: randomId('wrk'), name: 'Default' }
    const whole = { id: randomId('org'), name: request.name, plan, workspace, key }
    const organization = await organizations.createOrganization(whole, by)
    return { organization: organizationToProto(organization), workspaceId: workspace.id, managementKey: secret }
  }
}
