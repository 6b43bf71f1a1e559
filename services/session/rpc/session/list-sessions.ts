import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ListSessionsRequest,
  ListSessionsRequest_Order,
  type SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { isObject } from '#shared/json.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { check, parsePageSize, parseText } from '#shared/rpc/parse.ts'
import { continuationOf, pageTokens } from '../pages.ts'
import { sessionToProto } from './session-to-proto.ts'

const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 1_000
/** As long as what a session may be created with. */
const MAX_FILTER_LENGTH = 4_096
/** Of all filters together: they travel in the page token, and that in a URL. */
const MAX_FILTERS_LENGTH = 8_192

type Filter = Omit<SessionQuery, 'limit' | 'anchor'>
type Place = { readonly timeUpdated: number; readonly id: string }

/** Lists the sessions of the caller's workspace by the time of their last activity. */
export function listSessions(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['listSessions'] {
  const { store } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const scope = `sessions ${workspaceId}`
    const limit = parsePageSize(request.pageSize, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
    const continued = continuationOf<Filter, Place>(scope, request.pageToken, isFilter, isPlace)
    const filter = continued?.query ?? parseFilter(request)
    const anchor = continued === undefined ? {} : { anchor: continued.anchor }
    const page = await store.listSessions(workspaceId, { ...filter, limit, ...anchor })
    return {
      sessions: page.items.map(sessionToProto),
      ...pageTokens(scope, filter, page, continued?.anchor.direction, ({ timeUpdated, id }) => ({ timeUpdated, id })),
    }
  }
}

function parseFilter(request: ListSessionsRequest): Filter {
  const { search, directory, projectId, subpath, parentId } = request
  check(subpath === undefined || projectId !== '', 'subpath', 'needs project_id')
  for (const [field, value = ''] of Object.entries({ search, directory, projectId, subpath, parentId })) {
    parseText(field, value, 0, MAX_FILTER_LENGTH)
  }
  const all = `${search}${directory}${projectId}${subpath ?? ''}${parentId ?? ''}`
  const most = `must have at most ${MAX_FILTERS_LENGTH} characters together with the other filters`
  check(all.length <= MAX_FILTERS_LENGTH, 'search', most)
  return {
    order: parseOrder(request.order),
    ...(search === '' ? {} : { search }),
    ...(directory === '' ? {} : { directory }),
    ...(projectId === '' ? {} : { projectId }),
    ...(subpath === undefined ? {} : { subpath }),
    ...(parentId === undefined ? {} : { parentId: parentId === '' ? null : parentId }),
  }
}

const orders = enumTable({
  ascending: ListSessionsRequest_Order.ASCENDING,
  descending: ListSessionsRequest_Order.DESCENDING,
})

function parseOrder(order: ListSessionsRequest_Order): SessionQuery['order'] {
  const known = order === ListSessionsRequest_Order.UNSPECIFIED ? 'descending' : orders.fromProto(order)
  check(known !== undefined, 'order', 'must be ORDER_ASCENDING or ORDER_DESCENDING')
  return known
}

function isFilter(value: unknown): value is Filter {
  if (!isObject(value) || (value.order !== 'ascending' && value.order !== 'descending')) return false
  const { order: _, parentId = null, ...texts } = value
  const known = ['search', 'directory', 'projectId', 'subpath']
  return (
    (parentId === null || typeof parentId === 'string') &&
    Object.entries(texts).every(([name, text]) => known.includes(name) && typeof text === 'string')
  )
}

function isPlace({ timeUpdated, id }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(timeUpdated) && typeof id === 'string'
}
