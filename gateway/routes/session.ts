import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Request } from 'express'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import {
  ListSessionsRequest_Order,
  type ListSessionsRequestSchema,
} from '#gen/portico/session/v1/session_service_pb.js'
import { timedId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { callOf } from '../call.ts'
import { type Facade, type Route, sessionParameter } from '../facade.ts'
import { checkBody, readJson } from '../http/body.ts'
import { queryInteger, queryText, queryTextOrEmpty, queryWord, readQuery, requestDirectory } from '../http/query.ts'
import { sendJson, sendNothing } from '../http/respond.ts'
import { pageCursor } from '../schemas/page.ts'
import { createSessionBody, sessionInfo, switchAgentBody, switchModelBody } from '../schemas/session.ts'

/** Sessions: create, get, list, and what is selected for them. */
export function sessionRoutes({ clients: { session }, clock, config }: Facade): Route[] {
  return [
    {
      operation: 'session.list',
      method: 'get',
      path: '/api/session',
      async handle(request, response) {
        const page = await session.listSessions(listRequest(request), callOf(response).options())
        sendJson(response, 200, { data: page.sessions.map(sessionInfo), cursor: pageCursor(page) })
      },
    },
    {
      operation: 'session.create',
      method: 'post',
      path: '/api/session',
      async handle(request, response) {
        const body = checkBody(createSessionBody, await readJson(request, config.bodyLimit))
        const answer = await session.createSession(
          {
            // Minted here, so that a repeated call makes no second session (design decision 17).
            sessionId: body.id ?? timedId('ses', clock),
            agent: body.agent ?? '',
            directory: body.location?.directory ?? requestDirectory(request, readQuery(request)),
            ...(body.title == null ? {} : { title: body.title }),
            ...(body.model == null ? {} : { model: body.model }),
            ...(body.metadata == null ? {} : { metadata: body.metadata }),
            ...(body.permissions == null ? {} : { permissions: { rules: body.permissions } }),
          },
          callOf(response).options(),
        )
        sendJson(response, 200, { data: sessionInfo(given(answer.session)) })
      },
    },
    {
      operation: 'session.active',
      method: 'get',
      path: '/api/session/active',
      async handle(_, response) {
        const { sessionIds } = await session.listActiveSessions({}, callOf(response).options())
        sendJson(response, 200, { data: Object.fromEntries(sessionIds.map((id) => [id, { type: 'running' }])) })
      },
    },
    {
      operation: 'session.get',
      method: 'get',
      path: '/api/session/:sessionID',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const answer = await session.getSession({ sessionId }, callOf(response).options())
        sendJson(response, 200, { data: sessionInfo(given(answer.session)) })
      },
    },
    {
      operation: 'session.switchAgent',
      method: 'post',
      path: '/api/session/:sessionID/agent',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const { agent } = checkBody(switchAgentBody, await readJson(request, config.bodyLimit))
        await session.switchSessionAgent({ sessionId, agent }, callOf(response).options())
        sendNothing(response)
      },
    },
    {
      operation: 'session.switchModel',
      method: 'post',
      path: '/api/session/:sessionID/model',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const { model } = checkBody(switchModelBody, await readJson(request, config.bodyLimit))
        await session.switchSessionModel({ sessionId, model }, callOf(response).options())
        sendNothing(response)
      },
    },
  ]
}

const ORDERS = { asc: ListSessionsRequest_Order.ASCENDING, desc: ListSessionsRequest_Order.DESCENDING } as const

function listRequest(request: Request): MessageInitShape<typeof ListSessionsRequestSchema> {
  const query = readQuery(request)
  if (query.size === 0) return {}
  const pageSize = queryInteger(query, 'limit', 1, Number.MAX_SAFE_INTEGER) ?? 0
  const pageToken = queryText(query, 'cursor')
  // A cursor carries order and filters; those beside it are ignored (`contract/instance-facts.md` 3.9).
  if (pageToken !== undefined) return { pageSize: Math.min(pageSize, PAGE_LIMIT), pageToken }
  const parentId = queryText(query, 'parentID')
  if (parentId !== undefined && parentId !== 'null' && !parentId.startsWith('ses')) {
    throw new Rejection('QUERY_INVALID', { field: 'parentID', problem: 'Expected a session id (ses…) or "null"' })
  }
  const projectId = queryText(query, 'project')
  const subpath = queryTextOrEmpty(query, 'subpath')
  if (subpath !== undefined && projectId === undefined) {
    throw new Rejection('QUERY_INVALID', { field: 'subpath', problem: 'Needs project beside it' })
  }
  const order = queryWord(query, 'order', ['asc', 'desc'])
  return {
    pageSize: Math.min(pageSize, PAGE_LIMIT),
    search: queryText(query, 'search') ?? '',
    directory: queryText(query, 'directory') ?? '',
    projectId: projectId ?? '',
    ...(order === undefined ? {} : { order: ORDERS[order] }),
    ...(subpath === undefined ? {} : { subpath }),
    ...(parentId === undefined ? {} : { parentId: parentId === 'null' ? '' : parentId }),
  }
}

/** Most sessions on one page; a larger `limit` is taken as this, since the specification names no maximum. */
const PAGE_LIMIT = 1_000

function given(session: Session | undefined): Session {
  if (session === undefined) throw new Error('The session service answered without a session')
  return session
}
