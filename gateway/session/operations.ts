import { z } from 'zod'
import { timedId } from '#shared/ids.ts'
import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { sessionID, sessionParameter } from '../records/ids.ts'
import { locationHeaders, locationQuery, toDirectory } from '../records/location.ts'
import { cursor, fromPage } from '../records/page.ts'
import { fromSession, toCreateSession, toListSessions, toMoveSession } from './mappers.ts'
import {
  createSessionBody,
  forkSessionBody,
  listSessionsQuery,
  moveBody,
  sessionActive,
  sessionInfo,
} from './schemas.ts'

const params = z.object({ sessionID: sessionParameter })
const answer = z.strictObject({ data: sessionInfo })

export const listSessions = operation({
  id: 'session.list',
  method: 'get',
  path: '/api/session',
  summary: 'Sessions of the workspace, a page at a time',
  query: listSessionsQuery,
  // A cursor carries order and filters.
  cursor: { name: 'cursor', beside: ['limit'] },
  answer: z.strictObject({ data: z.array(sessionInfo), cursor }).meta({ id: 'SessionsResponse' }),
  errors: ['INVALID_CURSOR', 'REQUEST_INVALID'],
  handle: ({ session }, { query, call }) => session.listSessions(toListSessions(query), call.options()),
  present: (page) => ({ data: page.sessions.map(fromSession), cursor: fromPage(page) }),
})

export const createSession = operation({
  id: 'session.create',
  method: 'post',
  path: '/api/session',
  summary: 'Creates a session',
  description: 'With the id of an existing session, returns that session unchanged.',
  query: locationQuery,
  headers: locationHeaders,
  body: createSessionBody,
  answer,
  errors: ['REQUEST_INVALID', 'PEER_UNAVAILABLE'],
  handle: ({ session }, { query, headers, body, call, facade: { clock } }) => {
    const directory = (): string | undefined => toDirectory(query, headers)
    return session.createSession(
      toCreateSession(body, directory, () => timedId('ses', clock)),
      call.options(),
    )
  },
  present: ({ session }) => ({ data: fromSession(session) }),
})

export const listActiveSessions = operation({
  id: 'session.active',
  method: 'get',
  path: '/api/session/active',
  summary: 'Running sessions',
  answer: z.strictObject({ data: z.record(sessionID, sessionActive) }),
  handle: ({ session }, { call }) => session.listActiveSessions({}, call.options()),
  present: ({ sessionIds }) => ({
    data: Object.fromEntries(sessionIds.map((id) => [id, { type: 'running' } as const])),
  }),
})

export const getSession = operation({
  id: 'session.get',
  method: 'get',
  path: '/api/session/{sessionID}',
  summary: 'One session',
  params,
  answer,
  handle: ({ session }, { params, call }) => session.getSession({ sessionId: params.sessionID }, call.options()),
  present: ({ session }) => ({ data: fromSession(session) }),
})

/** A fork of a long session takes as long. */
const FORK_MS = 600_000

export const forkSession = operation({
  id: 'session.fork',
  method: 'post',
  path: '/api/session/{sessionID}/fork',
  summary: 'Creates a session from the history of another one',
  description:
    'Copies the settled part. The new session has its own ids and costs; it becomes visible once it is complete.',
  params,
  body: forkSessionBody,
  deadlineMs: FORK_MS,
  answer,
  errors: ['MESSAGE_NOT_FOUND', 'SESSION_EMPTY'],
  handle: ({ session }, { params, body, call, facade: { clock } }) =>
    session.forkSession(
      { sessionId: params.sessionID, forkId: timedId('ses', clock), beforeMessageId: body.before ?? undefined },
      call.options(),
    ),
  present: ({ session }) => ({ data: fromSession(session) }),
})

export const removeSession = operation({
  id: 'session.remove',
  method: 'delete',
  path: '/api/session/{sessionID}',
  summary: 'Removes a session and all below it',
  params,
  answer: noContent,
  handle: ({ session }, { params, call }) => session.removeSession({ sessionId: params.sessionID }, call.options()),
})

export const moveSession = operation({
  id: 'session.move',
  method: 'post',
  path: '/api/session/{sessionID}/move',
  summary: 'Moves a session to another project directory, at the boundary of the delivery',
  description:
    "The directory is trimmed, may be relative to the session's, and may begin with `~`. A response means that the move is " +
    'durable, not that it has been made.',
  params,
  body: moveBody,
  answer: noContent,
  errors: ['INBOX_FULL', 'DESTINATION_INVALID', 'REQUEST_INVALID', 'PEER_UNAVAILABLE'],
  handle: ({ session }, { params, body, call, facade: { clock } }) =>
    session.moveSession(
      toMoveSession(params.sessionID, body, () => timedId('msg', clock)),
      call.options(),
    ),
})
