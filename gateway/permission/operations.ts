import { z } from 'zod'
import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { nameParameter, sessionParameter } from '../records/ids.ts'
import {
  fromPermissionRequest,
  permissionReply,
  permissionRequest,
  toPermissionReply,
} from '../records/permission-request.ts'

const ofSession = z.object({ sessionID: sessionParameter })
const params = ofSession.extend({ requestID: nameParameter('requestID', 'Permission request') })
const list = z.strictObject({ data: z.array(permissionRequest) })

export const listPermissionRequests = operation({
  id: 'permission.request.list',
  method: 'get',
  path: '/api/permission/request',
  family: 'instance',
  summary: 'Unanswered permission requests of the workspace',
  answer: list,
  errors: [],
  handle: ({ session }, { call }) => session.listPermissionRequests({}, call.options()),
  present: ({ requests }) => ({ data: requests.map(fromPermissionRequest) }),
})

export const listSessionPermissions = operation({
  id: 'session.permission.list',
  method: 'get',
  path: '/api/session/{sessionID}/permission',
  family: 'instance',
  summary: 'Unanswered permission requests of a session',
  params: ofSession,
  answer: list,
  errors: ['SESSION_NOT_FOUND'],
  handle: ({ session }, { params, call }) =>
    session.listPermissionRequests({ sessionId: params.sessionID }, call.options()),
  present: ({ requests }) => ({ data: requests.map(fromPermissionRequest) }),
})

export const getSessionPermission = operation({
  id: 'session.permission.get',
  method: 'get',
  path: '/api/session/{sessionID}/permission/{requestID}',
  family: 'instance',
  summary: 'One permission request',
  params,
  answer: z.strictObject({ data: permissionRequest }),
  errors: ['SESSION_NOT_FOUND', 'PERMISSION_REQUEST_NOT_FOUND'],
  handle: ({ session }, { params: { sessionID: sessionId, requestID: requestId }, call }) =>
    session.getPermissionRequest({ sessionId, requestId }, call.options()),
  present: ({ request }) => ({ data: fromPermissionRequest(request) }),
})

export const replyToSessionPermission = operation({
  id: 'session.permission.reply',
  method: 'post',
  path: '/api/session/{sessionID}/permission/{requestID}/reply',
  family: 'instance',
  summary: 'Replies to a permission request',
  params,
  body: z.strictObject({ reply: permissionReply, message: z.string().nullish() }),
  answer: noContent,
  errors: ['SESSION_NOT_FOUND', 'PERMISSION_REQUEST_NOT_FOUND', 'REQUEST_INVALID'],
  handle: ({ session }, { params: { sessionID: sessionId, requestID: requestId }, body, call }) =>
    session.replyPermissionRequest(
      { sessionId, requestId, reply: toPermissionReply(body.reply), message: body.message ?? '' },
      call.options(),
    ),
})
