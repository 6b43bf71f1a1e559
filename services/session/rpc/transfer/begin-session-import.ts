import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { sessionNotFound } from '../session/get-session.ts'
import { parseImportedSession } from './parse-import.ts'

/** Begins an import: the first of the calls by which a session is imported, any of which any process can take (ADR 17). */
export function beginSessionImport(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['beginSessionImport'] {
  const { store } = dependencies
  return async ({ session }, context) => {
    const { workspaceId } = principalOf(context)
    const { id, parentId } = parseImportedSession(session)
    const parent = parentId === undefined ? undefined : await store.getSession(workspaceId, parentId)
    if (parentId !== undefined && parent === undefined) throw sessionNotFound(parentId)
    const { key } = await store.stageSession(workspaceId, id, 'import')
    return { import: { sessionId: id, key } }
  }
}
