import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { importedSession } from '#services/session/domain/lifetime/imported-session.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import type { ImportHolds } from '#services/session/run/lifetime/import-holds.ts'
import { parseDirectory } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { sessionToProto } from '../session/session-to-proto.ts'
import { parseImportedSession, stagedOf } from './parse-import.ts'

/** Ends an import: from now on, the session is visible with everything that was appended. */
export function commitSessionImport(dependencies: {
  readonly store: SessionStore
  readonly catalog: Catalog
  readonly importHolds: ImportHolds
}): ServiceImpl<typeof SessionService>['commitSessionImport'] {
  const { store, catalog, importHolds } = dependencies
  return async (request, context) => {
    const call = peerCallOf(context)
    const staged = stagedOf(request.import, call.principal.workspaceId)
    const imported = parseImportedSession(request.session)
    const location = await catalog.resolveLocation(call, parseDirectory(request.directory))
    const session = await store.commitStaged(staged, importedSession(imported, location))
    await importHolds.end(staged.key)
    return { session: sessionToProto(session) }
  }
}
