import type { ServiceImpl } from '@connectrpc/connect'
import type { CreateSessionRequest, SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { newSession } from '#services/session/domain/new-session.ts'
import type { NewSession } from '#services/session/domain/session.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import {
  parseAgentName,
  parseDirectory,
  parseMetadata,
  parseModel,
  parseRules,
  parseSessionId,
  parseTitle,
} from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { sessionToProto } from './session-to-proto.ts'

/** Creates a session in the location that the catalog resolves; an existing one is returned unchanged. */
export function createSession(dependencies: {
  readonly store: SessionStore
  readonly catalog: Catalog
}): ServiceImpl<typeof SessionService>['createSession'] {
  const { store, catalog } = dependencies
  return async (request, context) => {
    const call = peerCallOf(context)
    const parsed = parseCreateSession(request)
    const directory = parseDirectory(request.directory)
    const key = { workspace: call.principal.workspaceId, sessionId: parsed.id }
    const location = await catalog.resolveLocation(call, directory).catch((error: unknown) => ({ error }))
    if ('error' in location) {
      // An existing session needs no directory, which may be gone by now.
      const existing = await store.getSession(key.workspace, key.sessionId)
      if (existing === undefined) throw location.error
      return { session: sessionToProto(existing) }
    }
    const input = { ...parsed, location }
    const session = await store.createSession(key, (...made) => newSession(input, ...made))
    return { session: sessionToProto(session) }
  }
}

function parseCreateSession(request: CreateSessionRequest): Omit<NewSession, 'location'> {
  const { title, agent, model } = request
  return {
    id: parseSessionId(request.sessionId),
    // As with an update: a title is to be found.
    title: title === undefined || title === '' ? undefined : parseTitle(title),
    agent: agent === undefined ? undefined : parseAgentName('agent', agent),
    model: model === undefined ? undefined : parseModel(model),
    metadata: parseMetadata(request.metadata),
    permissions: parseRules(request.permissions),
  }
}
