import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { ImportHolds } from '#services/session/run/removal/import-holds.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { stagedOf } from './parse-import.ts'

const MAX_CONTENT_BYTES = 20 * 1_048_576

/** Keeps the content of a file until the messages of the import refer to it. */
export function putImportedContent(dependencies: {
  readonly blobs: BlobStore
  readonly importHolds: ImportHolds
}): ServiceImpl<typeof SessionService>['putImportedContent'] {
  const { blobs, importHolds } = dependencies
  return async ({ import: given, data }, context) => {
    const { workspace, key } = stagedOf(given, principalOf(context).workspaceId)
    check(data.length <= MAX_CONTENT_BYTES, 'data', `must have at most ${MAX_CONTENT_BYTES} bytes`)
    const { hash } = await blobs.put(workspace, data, importHolds.of(key))
    return { contentHash: hash }
  }
}
