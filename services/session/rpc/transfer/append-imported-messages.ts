import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { ownTurnFor } from '../message/own-turn-for.ts'
import { importedMessage } from './check-imported.ts'
import { stagedOf } from './parse-import.ts'

/** Appends messages to an import; without any, it only extends the import's time. */
export function appendImportedMessages(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['appendImportedMessages'] {
  const { store } = dependencies
  return async (request, context) => {
    const staged = stagedOf(request.import, principalOf(context).workspaceId)
    await ownTurnFor(request.messages)
    const messages = request.messages.flatMap((message, i) => importedMessage(message, `messages.${i}`) ?? [])
    await ownTurnFor(messages)
    if (messages.length === 0) await store.extendStaged(staged)
    else await store.appendStaged(staged, messages)
    return {}
  }
}
