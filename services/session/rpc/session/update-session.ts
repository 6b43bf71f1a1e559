import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { PermissionRulesetSchema } from '#gen/portico/session/v1/session_pb.js'
import type { SessionService, UpdateSessionRequest } from '#gen/portico/session/v1/session_service_pb.js'
import { type Description, describeSession } from '#services/session/domain/description.ts'
import type { Prompt } from '#services/session/domain/message.ts'
import { isTitleInput } from '#services/session/domain/title.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { PAGE_BYTES } from '#services/session/run/history/read-messages.ts'
import type { Titles } from '#services/session/run/titles/titles.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { parseMask } from '#shared/update-mask.ts'
import { parseMetadata, parseRules, parseTitle } from '../parse.ts'

const FIELDS = ['title', 'metadata', 'permissions'] as const
/** How many inputs without text, such as files alone, are skipped in search of a title. */
const MOST_WORDLESS = 20

interface Dependencies {
  readonly store: SessionStore
  readonly titles: Pick<Titles, 'find' | 'underWay'>
}

/** Changes title, metadata and rules of a session; an empty title requests that one be found. */
export function updateSession(dependencies: Dependencies): ServiceImpl<typeof SessionService>['updateSession'] {
  const { store, titles } = dependencies
  return async (request, context) => {
    const principal = principalOf(context)
    const description = parseUpdateSession(request)
    const key = { workspace: principal.workspaceId, sessionId: request.sessionId }
    const first = description.title === '' ? await firstWords(store, key) : undefined
    const known = { words: first !== undefined, underWay: new Set(titles.underWay) }
    const titleRequest = await store.revise(key, nothing, (revision) => describeSession(revision, description, known))
    if (titleRequest === undefined || first === undefined) return {}
    const session = await store.getSession(key.workspace, key.sessionId)
    if (session !== undefined) titles.find({ id: titleRequest, session, principal, prompt: first })
    return {}
  }
}

/** The first input that a title can be found from. */
async function firstWords(store: SessionStore, { workspace, sessionId }: SessionKey): Promise<Prompt | undefined> {
  const query = { limit: MOST_WORDLESS, bytes: PAGE_BYTES, order: 'ascending', type: 'user' } as const
  const page = await store.listMessages(workspace, sessionId, query)
  return page?.items.map(({ message }) => message).find(isTitleInput)?.prompt
}

function parseUpdateSession(request: UpdateSessionRequest): Description {
  const { title = '', metadata = {}, permissions = create(PermissionRulesetSchema), updateMask } = request
  const named =
    updateMask === undefined ? FIELDS.filter((name) => request[name] !== undefined) : parseMask(updateMask, FIELDS)
  return {
    title: named.includes('title') ? parseTitle(title) : undefined,
    metadata: named.includes('metadata') ? parseMetadata(metadata) : undefined,
    permissions: named.includes('permissions') ? parseRules(permissions) : undefined,
  }
}
