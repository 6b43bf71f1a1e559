import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService, UpdateSessionRequest } from '#gen/portico/session/v1/session_service_pb.js'
import { type Description, describeSession } from '#services/session/domain/description.ts'
import type { Admitter } from '#services/session/domain/inbox.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import type { Titles } from '#services/session/run/titles/titles.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { parseMetadata, parseRules, parseTitle } from '../parse.ts'

interface Dependencies {
  readonly store: SessionStore
  readonly titles: Pick<Titles, 'find' | 'underWay'>
}

/** Changes what a session is called and what clients said of it; has a title found where an empty one was given. */
export function updateSession(dependencies: Dependencies): ServiceImpl<typeof SessionService>['updateSession'] {
  const { store, titles } = dependencies
  return async (request, context) => {
    const principal = principalOf(context)
    const description = parseUpdateSession(request)
    const key = { workspace: principal.workspaceId, sessionId: request.sessionId }
    const titleRequest = await store.revise(key, nothing, (revision) =>
      describeSession(revision, description, titles.underWay),
    )
    if (titleRequest !== undefined) await findTitle(dependencies, key, titleRequest, principal)
    return {}
  }
}

async function findTitle({ store, titles }: Dependencies, key: SessionKey, id: string, principal: Admitter) {
  const { workspace, sessionId } = key
  const [session, page] = await Promise.all([
    store.getSession(workspace, sessionId),
    store.listMessages(workspace, sessionId, { limit: 1, order: 'ascending', type: 'user' }),
  ])
  const first = page?.items[0]?.message
  if (session === undefined || first?.type !== 'user') return
  titles.find({ id, session, principal, prompt: first.prompt })
}

function parseUpdateSession({ title, metadata, permissions }: UpdateSessionRequest): Description {
  return {
    title: title === undefined ? undefined : parseTitle(title),
    metadata: parseMetadata(metadata),
    permissions: parseRules(permissions),
  }
}
