import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { admitCompaction } from '#services/session/domain/inbox/inputs.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { NO_BLOBS } from '../blob-contents.ts'
import { parseMessageId } from '../parse.ts'
import { itemToProto } from './item-to-proto.ts'
import { checkAdmitted, digestOf, parseDelivery } from './parse-admission.ts'

/** Admits a compaction, unless one waits; the response means that it is durable. */
export function compactSession(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['compactSession'] {
  const { store } = dependencies
  return async (request, context) => {
    const admitter = principalOf(context)
    const id = parseMessageId(request.messageId)
    const delivery = parseDelivery(request.delivery)
    const digest = digestOf(['compaction', delivery])
    const item = await store.revise(
      { workspace: admitter.workspaceId, sessionId: request.sessionId },
      (reads) => reads.compactionReads(id),
      (revision, reads) => {
        const admission = { id, delivery, digest, admitter, wake: true }
        return checkAdmitted(admitCompaction(revision, reads, admission), request.sessionId, id)
      },
    )
    return { item: itemToProto(item, NO_BLOBS) }
  }
}
