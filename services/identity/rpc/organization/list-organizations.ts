import type { ServiceImpl } from '@connectrpc/connect'
import {
  type FederationService,
  ListOrganizationsRequestSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import { sliceParser } from '#shared/page-size.ts'
import { operatorOf } from '../parse.ts'
import { organizationToProto } from './convert.ts'

const parseSlice = sliceParser(ListOrganizationsRequestSchema)

/** Lists all organizations, oldest first. */
export function listOrganizations(dependencies: {
  readonly organizations: OrganizationStore
}): ServiceImpl<typeof FederationService>['listOrganizations'] {
  const { organizations } = dependencies
  return async (request, context) => {
    operatorOf(context)
    const { offset, limit } = parseSlice(request)
    const { items, total } = await organizations.listOrganizations(offset, limit)
    return { organizations: items.map(organizationToProto), totalSize: total }
  }
}
