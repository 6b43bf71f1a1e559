import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { OrganizationSchema, type Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import {
  CreateOrganizationRequestSchema,
  type FederationService,
  ListOrganizationsRequestSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { check } from '#shared/rpc/parse.ts'
import { PLAN_NAMES } from '../domain/organization.ts'
import type { OrganizationStore } from '../ports/organization-store.ts'
import { newKey, newSecret } from '../run/new-key.ts'
import { byOf, operatorOf } from './callers.ts'

const checkCreate = checkLimits(CreateOrganizationRequestSchema)
const parseSlice = sliceParser(ListOrganizationsRequestSchema)

/** The organizations, which only the operator creates and changes. */
export function organizations(dependencies: { readonly organizations: OrganizationStore; readonly clock: Clock }) {
  const { organizations, clock } = dependencies
  return {
    async createOrganization(request, context) {
      const by = byOf(operatorOf(context), clock)
      checkCreate(request)
      const { name, plan } = request
      checkPlan(plan)
      const organizationId = randomId('org')
      const workspace = { id: randomId('wrk'), name: 'Default' }
      const created = create(OrganizationSchema, { organizationId, name, plan, createTime: by.time })
      const managementKey = newSecret(Kind.MANAGEMENT)
      const first = { workspaceId: workspace.id, kind: Kind.MANAGEMENT, name: 'first management key' }
      const key = newKey(managementKey, first, by)
      const organization = await organizations.createOrganization({ organization: created, workspace }, key, by)
      return { organization, workspaceId: workspace.id, managementKey }
    },

    async listOrganizations(request, context) {
      operatorOf(context)
      const { offset, limit } = parseSlice(request)
      const { items, total } = await organizations.listOrganizations(offset, limit)
      return { organizations: items, totalSize: total }
    },

    async updateOrganizationPlan({ organizationId, plan }, context) {
      const by = byOf(operatorOf(context), clock)
      checkPlan(plan)
      const organization = await organizations.setPlan(organizationId, plan, by)
      if (organization === undefined) throw new Rejection('ORGANIZATION_NOT_FOUND', { organization_id: organizationId })
      return { organization }
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

function checkPlan(plan: Plan): void {
  check(PLAN_NAMES.has(plan), 'plan', 'must be PLAN_FREE, PLAN_BUSINESS or PLAN_ENTERPRISE')
}
