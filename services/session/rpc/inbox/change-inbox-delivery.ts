import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { changeDelivery, type Unchanged } from '#services/session/domain/inbox/inbox-changes.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { parseDelivery } from './parse-admission.ts'

const PROBLEMS: Readonly<Partial<Record<Unchanged, string>>> = {
  unknown: 'was never in the inbox of this session',
  delivered: 'has already entered the conversation',
  cancelled: 'was cancelled',
}

/** Changes when an item that waits enters the conversation. */
export function changeInboxDelivery(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['changeInboxDelivery'] {
  const { store } = dependencies
  return async ({ sessionId, messageId, delivery: wanted }, context) => {
    const { workspaceId } = principalOf(context)
    const delivery = parseDelivery(wanted)
    await store.revise(
      { workspace: workspaceId, sessionId },
      (reads) => reads.item(messageId),
      (revision, known) => {
        const unchanged = changeDelivery(revision, known, delivery)
        if (unchanged === undefined) return
        const problem = PROBLEMS[unchanged] ?? `already has the delivery ${delivery}`
        throw new Rejection('INBOX_ITEM_CONFLICT', { message_id: messageId, problem })
      },
    )
    return {}
  }
}
