import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Organization_Plan, type OrganizationSchema } from '#gen/portico/identity/v1/federation_pb.js'
import {
  CreateOrganizationRequestSchema,
  type FederationService,
  ListOrganizationsRequestSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { sliceParser } from '#shared/page-size.ts'
import { Rejection } from '#shared/rejection.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { prefixOf } from '../domain/api-key.ts'
import type { Organization, Plan } from '../domain/organization.ts'
import type { ListedOrganization, OrganizationStore } from '../ports/organization-store.ts'
import { hashOf, newSecret } from '../run/secret.ts'
import { byOf, operatorOf } from './callers.ts'

const checkCreate = checkLimits(CreateOrganizationRequestSchema)
const parseSlice = sliceParser(ListOrganizationsRequestSchema)
const plans = enumTable({
  free: Organization_Plan.FREE,
  business: Organization_Plan.BUSINESS,
  enterprise: Organization_Plan.ENTERPRISE,
})

/** The organizations, which only the operator creates and changes. */
export function organizations(dependencies: { readonly organizations: OrganizationStore; readonly clock: Clock }) {
  const { organizations, clock } = dependencies
  return {
    async createOrganization(request, context) {
      const by = byOf(operatorOf(context), clock)
      checkCreate(request)
      const plan = parsePlan(request.plan)
      const secret = newSecret('management')
      const kept = { hash: hashOf(secret), prefix: prefixOf(secret), timeCreated: by.time, timeExpires: undefined }
      const key = { id: randomId('key'), kind: 'management', name: 'first management key', ...kept } as const
      const workspace = { id: randomId('wrk'), name: 'Default' }
      const whole = { id: randomId('org'), name: request.name, plan, workspace, key }
      const organization = await organizations.createOrganization(whole, by)
      return { organization: organizationToProto(organization), workspaceId: workspace.id, managementKey: secret }
    },

    async listOrganizations(request, context) {
      operatorOf(context)
      const { offset, limit } = parseSlice(request)
      const { items, total } = await organizations.listOrganizations(offset, limit)
      return { organizations: items.map(organizationToProto), totalSize: total }
    },

    async updateOrganizationPlan({ organizationId, plan }, context) {
      const by = byOf(operatorOf(context), clock)
      const organization = await organizations.setPlan(organizationId, parsePlan(plan), by)
      if (organization === undefined) throw new Rejection('ORGANIZATION_NOT_FOUND', { organization_id: organizationId })
      return { organization: organizationToProto(organization) }
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

function parsePlan(plan: Organization_Plan): Plan {
  const word = plans.fromProto(plan)
  check(word !== undefined, 'plan', 'must be PLAN_FREE, PLAN_BUSINESS or PLAN_ENTERPRISE')
  return word
}

function organizationToProto(
  organization: Organization | ListedOrganization,
): MessageInitShape<typeof OrganizationSchema> {
  const { id, name, plan, timeCreated } = organization
  const workspaceIds = 'workspaceIds' in organization ? [...organization.workspaceIds] : []
  return { organizationId: id, name, plan: plans.toProto(plan), createTime: timestampFromMs(timeCreated), workspaceIds }
}
