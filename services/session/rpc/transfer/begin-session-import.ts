import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { Session } from '#services/session/domain/session.ts'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { parseImportedSession } from './parse-import.ts'

/** Maximum number of ancestors of a session: each removal, and each reader of events, goes through all of them. */
const MOST_ANCESTORS = 100

/**
 * Begins an import. This is the first of the calls that import a session; any process can handle each of them (ADR 17).
 */
export function beginSessionImport(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['beginSessionImport'] {
  const { store } = dependencies
  return async ({ session }, context) => {
    const { workspaceId } = principalOf(context)
    const { id, parentId } = parseImportedSession(session)
    if (parentId !== undefined) await checkParent(store, workspaceId, parentId)
    const { key } = await store.stageSession(workspaceId, id, 'import')
    return { import: { sessionId: id, key } }
  }
}

async function checkParent(store: SessionStore, workspace: string, parentId: string): Promise<void> {
  let id: string | undefined = parentId
  for (let count = 0; id !== undefined; count++) {
    check(count < MOST_ANCESTORS, 'parent_id', `must have fewer than ${MOST_ANCESTORS} ancestors`)
    const session: Session | undefined = await store.getSession(workspace, id)
    if (session === undefined && id === parentId) throw sessionNotFound(parentId)
    id = session?.parentId
  }
}
