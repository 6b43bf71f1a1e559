import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import type { ImportHolds } from '#services/session/run/lifetime/import-holds.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { stagedOf } from './parse-import.ts'

/** Abandons an import: nothing of it remains. */
export function abandonSessionImport(dependencies: {
  readonly store: SessionStore
  readonly importHolds: ImportHolds
  readonly remover: { wake(): void }
}): ServiceImpl<typeof SessionService>['abandonSessionImport'] {
  const { store, importHolds, remover } = dependencies
  return async (request, context) => {
    const staged = stagedOf(request.import, principalOf(context).workspaceId)
    await store.giveUpStaged(staged).finally(async () => {
      // If that could not be written, the import's time runs out, and nothing can use what was held for it.
      await importHolds.end(staged.key)
      remover.wake()
    })
    return {}
  }
}
