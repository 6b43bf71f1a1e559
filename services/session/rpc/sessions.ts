import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  PermissionRulesetSchema,
  type Prompt,
  type Session,
  SessionSchema,
} from '#gen/portico/session/v1/session_pb.js'
import {
  type CreateSessionRequest,
  type ListSessionsRequest,
  ListSessionsRequestSchema,
  Order,
  type SessionService,
  type UpdateSessionRequest,
} from '#gen/portico/session/v1/session_service_pb.js'
import { isObject } from '#shared/json.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { pageSizeParser } from '#shared/rpc/pages.ts'
import { check, parseMask } from '#shared/rpc/parse.ts'
import { type Description, describeSession, viewSession as recordView } from '../domain/description.ts'
import { newSession } from '../domain/new-session.ts'
import { selectAgent, selectModel } from '../domain/selection.ts'
import { isTitleInput } from '../domain/title.ts'
import type { SessionKey } from '../ports/lease.ts'
import type { Page, SessionQuery, UnreadableSession } from '../ports/session-lists.ts'
import { nothing, type SessionStore, sessionNotFound } from '../ports/session-store.ts'
import { PAGE_BYTES } from '../run/history/read-messages.ts'
import { forkSession as fork } from '../run/lifetime/fork-session.ts'
import { pause } from '../run/pause.ts'
import type { SessionDependencies } from './dependencies.ts'
import { continuationOf, type Direction, pageTokens } from './pages.ts'
import {
  checkModel,
  checkRules,
  checkTime,
  parseAgentName,
  parseDirectory,
  parseMessageId,
  parseMetadata,
  parseOrder,
  parseSessionId,
  parseTitle,
} from './parse.ts'
import { peerCallOf } from './peer-call.ts'

/** Maximum length of all filters together: they are part of the page token, and that of a URL. */
const MAX_FILTERS_LENGTH = 8_192
/** Of how many sessions a process reports that they cannot be read. */
const MOST_REPORTED = 1_000
const parsePageSize = pageSizeParser(ListSessionsRequestSchema)
const checkList = checkLimits(ListSessionsRequestSchema)

/**
 * How long writes may take whose time is before that of a first page, in milliseconds. What changes later is beyond the
 * end of an ascending list.
 */
const SETTLE_MS = 25

type Filter = Omit<SessionQuery, 'limit' | 'after'>
type Listed = Session | UnreadableSession
type Place = { readonly updateTime: number; readonly sessionId: string }

const FIELDS = ['title', 'metadata', 'permissions'] as const
/** How many inputs without text, such as files alone, are skipped in search of a title. */
const MOST_WORDLESS = 20

export function sessionHandlers(dependencies: SessionDependencies) {
  const { store, catalog, clock, logger, titles, remover } = dependencies
  const reported = new Set<string>()
  const report = (workspaceId: string, { sessionId, unreadable }: UnreadableSession): void => {
    const key = `${workspaceId} ${sessionId}`
    if (reported.has(key) || reported.size === MOST_REPORTED) return
    reported.add(key)
    logger.error({ err: unreadable, workspaceId, sessionId }, 'A session cannot be read, and is left out of lists')
  }
  return {
    /** Creates a session in the location that the catalog resolves; an existing one is returned unchanged. */
    async createSession(request, context) {
      const call = peerCallOf(context)
      checkCreateSession(request)
      const key = { workspace: call.principal.workspaceId, sessionId: request.sessionId }
      const wanted = parseDirectory(request.directory)
      const location = await catalog.resolveLocation(call, wanted).catch((error: unknown) => ({ error }))
      if ('error' in location) {
        // An existing session needs no directory, which may be gone by now.
        const existing = await store.getSession(key.workspace, key.sessionId)
        if (existing === undefined) throw location.error
        return { session: existing }
      }
      const { agent, model, metadata, permissions } = request
      const { directory, projectId, subpath } = location
      const own = { sessionId: key.sessionId, agent, model, directory, projectId, subpath, metadata, permissions }
      // As with an update: an empty title is to be found.
      const input = create(SessionSchema, { ...own, title: request.title || undefined })
      const session = await store.createSession(key, (...made) => newSession(input, ...made))
      return { session }
    },
    async getSession({ sessionId }, context) {
      const { workspaceId } = principalOf(context)
      const session = await store.getSession(workspaceId, sessionId)
      if (session === undefined) throw sessionNotFound(sessionId)
      return { session }
    },
    /**
     * Lists the sessions of the caller's workspace by the time of their last activity. An ascending list ends where it
     * ended when its first page was read, so that sessions that are prompted meanwhile do not come again. A session
     * that cannot be read is left out, so its page is shorter, and logged once.
     */
    async listSessions(request, context) {
      const { workspaceId } = principalOf(context)
      const scope = `sessions ${workspaceId}`
      const limit = parsePageSize(request.pageSize)
      const continued = continuationOf<Filter, Place>(scope, request.pageToken, isFilter, isPlace)
      let filter = continued?.query ?? parseFilter({ ...request, pageSize: limit })
      const until = clock.now()
      let page = await readPage(store, workspaceId, { ...filter, limit }, continued?.anchor)
      if (continued === undefined && filter.order === Order.ASCENDING && page.more) {
        filter = { ...filter, until }
        await pause(SETTLE_MS, context.signal)
        page = await readPage(store, workspaceId, { ...filter, limit }, undefined)
      }
      const sessions: Session[] = []
      for (const item of page.items) {
        if ('unreadable' in item) report(workspaceId, item)
        else sessions.push(item)
      }
      return {
        sessions,
        ...pageTokens(scope, filter, page, continued?.anchor.direction, ({ updateTime, sessionId }) => ({
          updateTime,
          sessionId,
        })),
      }
    },
    /** Changes title, metadata and rules of a session; an empty title requests that one be found. */
    async updateSession(request, context) {
      const principal = principalOf(context)
      const description = parseUpdateSession(request)
      const key = { workspace: principal.workspaceId, sessionId: request.sessionId }
      const first = description.title === '' ? await firstWords(store, key) : undefined
      const facts = { words: first !== undefined, underWay: new Set(titles.underWay) }
      const titleRequest = await store.revise(key, nothing, (revision) => describeSession(revision, description, facts))
      if (titleRequest === undefined || first === undefined) return {}
      const session = await store.getSession(key.workspace, key.sessionId)
      if (session !== undefined) titles.find({ id: titleRequest, session, principal, prompt: first })
      return {}
    },
    /** Records that somebody has seen how a run ended. */
    async viewSession({ sessionId, idleTime }, context) {
      const { workspaceId: workspace } = principalOf(context)
      check(idleTime !== undefined, 'idle_time', 'is missing')
      checkTime(idleTime)
      await store.revise({ workspace, sessionId }, nothing, (revision) => recordView(revision, idleTime))
      return {}
    },
    /** Selects the agent of the next steps. */
    async switchSessionAgent({ sessionId, agent }, context) {
      const { workspaceId } = principalOf(context)
      const selected = parseAgentName('agent', agent)
      await store.revise({ workspace: workspaceId, sessionId }, nothing, (revision) => selectAgent(revision, selected))
      return {}
    },
    /** Selects the model of the next steps. */
    async switchSessionModel({ sessionId, model }, context) {
      const { workspaceId } = principalOf(context)
      check(model !== undefined, 'model', 'must be set')
      checkModel(model)
      await store.revise({ workspace: workspaceId, sessionId }, nothing, (revision) => selectModel(revision, model))
      return {}
    },
    /** Creates a session from the history of another one. If the caller leaves, nothing of it remains. */
    async forkSession({ sessionId, forkId, beforeMessageId }, context) {
      const call = peerCallOf(context)
      const { workspaceId: workspace } = call.principal
      const id = parseSessionId(forkId)
      const before = beforeMessageId === undefined ? undefined : parseMessageId(beforeMessageId)
      const session = await fork(dependencies, { workspace, sessionId, id, before }, call)
      return { session }
    },
    /**
     * Removes a session and those below it, unless there are very many, and waits for a short time until their tool
     * calls have ended. Their owners are notified, and the remover removes and deletes the rest.
     */
    async removeSession({ sessionId }, context) {
      const { workspaceId } = principalOf(context)
      const removal = await store.removeSession(workspaceId, sessionId)
      const removals = [removal, ...(await remover.removeBelow(removal))]
      remover.wake()
      await Promise.all(removals.map((removal) => remover.endTools(removal)))
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

function checkCreateSession({ sessionId, title, agent, model, metadata, permissions }: CreateSessionRequest): void {
  parseSessionId(sessionId)
  if (title !== undefined) parseTitle(title)
  if (agent !== undefined) parseAgentName('agent', agent)
  if (model !== undefined) checkModel(model)
  parseMetadata(metadata)
  if (permissions !== undefined) checkRules(permissions)
}

/** A page that begins at its anchor; a page before an anchor is read backwards. */
async function readPage(
  store: SessionStore,
  workspaceId: string,
  { limit, order, ...filter }: SessionQuery,
  anchor: (Place & { readonly direction: Direction }) | undefined,
): Promise<Page<Listed>> {
  const backward = anchor?.direction === 'previous'
  const reading = (order === Order.ASCENDING) === backward ? Order.DESCENDING : Order.ASCENDING
  const after = anchor && { after: { updateTime: anchor.updateTime, sessionId: anchor.sessionId } }
  const sessions: Listed[] = []
  // One more than the page has shows that there is another page.
  const query = { ...filter, ...after, order: reading, limit: limit + 1 } as const
  for await (const batch of store.listSessions(workspaceId, query)) sessions.push(...batch)
  const items = sessions.slice(0, limit)
  return { items: backward ? items.reverse() : items, more: sessions.length > limit }
}

function parseFilter(request: ListSessionsRequest): Filter {
  const { search, directory, projectId, subpath, parentId, rootsOnly } = request
  check(!rootsOnly || parentId === undefined, 'roots_only', 'must not be given together with parent_id')
  check(subpath === undefined || projectId !== undefined, 'subpath', 'requires project_id')
  const filters = [search, directory, projectId, subpath, parentId]
  checkList(request)
  const all = filters.join('')
  const most = `must have at most ${MAX_FILTERS_LENGTH} characters together with the other filters`
  check(all.length <= MAX_FILTERS_LENGTH, 'search', most)
  return {
    order: parseOrder(request.order),
    search,
    directory,
    projectId,
    subpath,
    parentId: rootsOnly ? null : parentId,
  }
}

function isFilter(value: unknown): value is Filter {
  if (!isObject(value) || (value.order !== Order.ASCENDING && value.order !== Order.DESCENDING)) return false
  const { order: _, parentId = null, until = 0, ...texts } = value
  const names = ['search', 'directory', 'projectId', 'subpath']
  return (
    (parentId === null || typeof parentId === 'string') &&
    Number.isSafeInteger(until) &&
    Object.entries(texts).every(([name, text]) => names.includes(name) && typeof text === 'string')
  )
}

function isPlace({ updateTime, sessionId }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(updateTime) && typeof sessionId === 'string'
}

/** The first input that a title can be found from. */
async function firstWords(store: SessionStore, { workspace, sessionId }: SessionKey): Promise<Prompt | undefined> {
  const query = { limit: MOST_WORDLESS, bytes: PAGE_BYTES, order: Order.ASCENDING, type: 'user' } as const
  const page = await store.listMessages(workspace, sessionId, query)
  return page?.items.map(({ message }) => message).find(isTitleInput)?.kind.value
}

function parseUpdateSession(request: UpdateSessionRequest): Description {
  const { title = '', metadata = {}, permissions = create(PermissionRulesetSchema), updateMask } = request
  checkRules(permissions)
  check(updateMask !== undefined, 'update_mask', 'is required')
  const named = parseMask(updateMask, FIELDS)
  return {
    title: named.includes('title') ? parseTitle(title) : undefined,
    metadata: named.includes('metadata') ? parseMetadata(metadata) : undefined,
    permissions: named.includes('permissions') ? permissions : undefined,
  }
}
