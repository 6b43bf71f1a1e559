import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Organization_Plan, type OrganizationSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { Organization, Plan } from '#services/identity/domain/organization.ts'
import type { ListedOrganization } from '#services/identity/ports/organization-store.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'

const plans = enumTable({
  free: Organization_Plan.FREE,
  business: Organization_Plan.BUSINESS,
  enterprise: Organization_Plan.ENTERPRISE,
})

export function planFromProto(plan: Organization_Plan): Plan | undefined {
  return plans.fromProto(plan)
}

export function organizationToProto(
  organization: Organization | ListedOrganization,
): MessageInitShape<typeof OrganizationSchema> {
  const { id, name, plan, timeCreated } = organization
  const workspaceIds = 'workspaceIds' in organization ? [...organization.workspaceIds] : []
  return { organizationId: id, name, plan: plans.toProto(plan), createTime: timestampFromMs(timeCreated), workspaceIds }
}
