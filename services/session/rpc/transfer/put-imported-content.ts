import type { ServiceImpl } from '@connectrpc/connect'
import { PutImportedContentRequestSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { ImportHolds } from '#services/session/run/lifetime/import-holds.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { stagedOf } from './parse-import.ts'

const checkRequest = checkLimits(PutImportedContentRequestSchema)

/** Keeps the content of a file until the messages of the import refer to it. */
export function putImportedContent(dependencies: {
  readonly blobs: BlobStore
  readonly importHolds: ImportHolds
}): ServiceImpl<typeof SessionService>['putImportedContent'] {
  const { blobs, importHolds } = dependencies
  return async (request, context) => {
    const { workspace, key } = stagedOf(request.import, principalOf(context).workspaceId)
    checkRequest(request)
    const { hash } = await blobs.put(workspace, request.data, importHolds.of(key))
    return { contentHash: hash }
  }
}
