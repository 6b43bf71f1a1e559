import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Attachments } from '../ports/attachments.ts'
import type { Locations } from '../ports/locations.ts'

/** Reads a `file:` or `data:` attachment. */
export function readAttachment(dependencies: {
  readonly locations: Locations
  readonly attachments: Attachments
}): ServiceImpl<typeof CatalogService>['readAttachment'] {
  return async (request, context) => {
    const location = await dependencies.locations.resolve(principalOf(context), request.directory)
    const { data, mime, name } = await dependencies.attachments.read(location, request.uri)
    return { data: data as Uint8Array<ArrayBuffer>, mime, name }
  }
}
