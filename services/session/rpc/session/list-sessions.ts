import type { ServiceImpl } from '@connectrpc/connect'
import type { Session as SessionMessage } from '#gen/portico/session/v1/session_pb.js'
import {
  type ListSessionsRequest,
  ListSessionsRequestSchema,
  type SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { Session } from '#services/session/domain/session.ts'
import type { Page, SessionQuery, UnreadableSession } from '#services/session/ports/session-lists.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { pause } from '#services/session/run/pause.ts'
import type { Clock } from '#shared/clock.ts'
import { isObject } from '#shared/json.ts'
import { pageSizeParser } from '#shared/page-size.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { continuationOf, type Direction, pageTokens } from '../pages.ts'
import { parseOrder } from '../parse.ts'
import { sessionToProto } from './session-to-proto.ts'

/** Maximum length of all filters together: they are part of the page token, and that of a URL. */
const MAX_FILTERS_LENGTH = 8_192
/** Of how many sessions a process reports that they cannot be read. */
const MOST_REPORTED = 1_000
const parsePageSize = pageSizeParser(ListSessionsRequestSchema)
const checkRequest = checkLimits(ListSessionsRequestSchema)

/**
 * How long writes may take whose time is before that of a first page, in milliseconds. What changes later is beyond the
 * end of an ascending list.
 */
const SETTLE_MS = 25

type Filter = Omit<SessionQuery, 'limit' | 'after'>
type Listed = Session | UnreadableSession
type Place = { readonly timeUpdated: number; readonly id: string }

/**
 * Lists the sessions of the caller's workspace by the time of their last activity. An ascending list ends where it
 * ended when its first page was read, so that sessions that are prompted meanwhile do not come again. A session that
 * cannot be read is left out, so its page is shorter, and logged once.
 */
export function listSessions(dependencies: {
  readonly store: SessionStore
  readonly clock: Clock
  readonly logger: Logger
}): ServiceImpl<typeof SessionService>['listSessions'] {
  const { store, clock, logger } = dependencies
  const reported = new Set<string>()
  const report = (workspaceId: string, { id, unreadable }: UnreadableSession): void => {
    const key = `${workspaceId} ${id}`
    if (reported.has(key) || reported.size === MOST_REPORTED) return
    reported.add(key)
    logger.error({ err: unreadable, workspaceId, sessionId: id }, 'A session cannot be read, and is left out of lists')
  }
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const scope = `sessions ${workspaceId}`
    const limit = parsePageSize(request.pageSize)
    const continued = continuationOf<Filter, Place>(scope, request.pageToken, isFilter, isPlace)
    let filter = continued?.query ?? parseFilter({ ...request, pageSize: limit })
    const until = clock.now()
    let page = await readPage(store, workspaceId, { ...filter, limit }, continued?.anchor)
    if (continued === undefined && filter.order === 'ascending' && page.more) {
      filter = { ...filter, until }
      await pause(SETTLE_MS, context.signal)
      page = await readPage(store, workspaceId, { ...filter, limit }, undefined)
    }
    const sessions: SessionMessage[] = []
    for (const item of page.items) {
      const shown = 'unreadable' in item ? item : toShown(item)
      if ('unreadable' in shown) report(workspaceId, shown)
      else sessions.push(shown)
    }
    return {
      sessions,
      ...pageTokens(scope, filter, page, continued?.anchor.direction, ({ timeUpdated, id }) => ({ timeUpdated, id })),
    }
  }
}

/** What was stored may be JSON, but not that of a session. */
function toShown(session: Session): SessionMessage | UnreadableSession {
  try {
    return sessionToProto(session)
  } catch (unreadable) {
    return { id: session.id, timeUpdated: session.timeUpdated, unreadable }
  }
}

/** A page that begins at its anchor; a page before an anchor is read backwards. */
async function readPage(
  store: SessionStore,
  workspaceId: string,
  { limit, order, ...filter }: SessionQuery,
  anchor: (Place & { readonly direction: Direction }) | undefined,
): Promise<Page<Listed>> {
  const backward = anchor?.direction === 'previous'
  const reading = (order === 'ascending') === backward ? 'descending' : 'ascending'
  const after = anchor && { after: { timeUpdated: anchor.timeUpdated, id: anchor.id } }
  const found: Listed[] = []
  // One more than the page has shows that there is another page.
  const query = { ...filter, ...after, order: reading, limit: limit + 1 } as const
  for await (const batch of store.listSessions(workspaceId, query)) found.push(...batch)
  const items = found.slice(0, limit)
  return { items: backward ? items.reverse() : items, more: found.length > limit }
}

function parseFilter(request: ListSessionsRequest): Filter {
  const { search, directory, projectId, subpath, parentId, rootsOnly } = request
  check(!rootsOnly || parentId === undefined, 'roots_only', 'must not be given together with parent_id')
  check(subpath === undefined || projectId !== undefined, 'subpath', 'requires project_id')
  const filters = [search, directory, projectId, subpath, parentId]
  checkRequest(request)
  const all = filters.join('')
  const most = `must have at most ${MAX_FILTERS_LENGTH} characters together with the other filters`
  check(all.length <= MAX_FILTERS_LENGTH, 'search', most)
  return {
    order: parseOrder(request.order),
    ...(search === undefined ? {} : { search }),
    ...(directory === undefined ? {} : { directory }),
    ...(projectId === undefined ? {} : { projectId }),
    ...(subpath === undefined ? {} : { subpath }),
    ...(rootsOnly ? { parentId: null } : parentId === undefined ? {} : { parentId }),
  }
}

function isFilter(value: unknown): value is Filter {
  if (!isObject(value) || (value.order !== 'ascending' && value.order !== 'descending')) return false
  const { order: _, parentId = null, until = 0, ...texts } = value
  const known = ['search', 'directory', 'projectId', 'subpath']
  return (
    (parentId === null || typeof parentId === 'string') &&
    Number.isSafeInteger(until) &&
    Object.entries(texts).every(([name, text]) => known.includes(name) && typeof text === 'string')
  )
}

function isPlace({ timeUpdated, id }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(timeUpdated) && typeof id === 'string'
}
