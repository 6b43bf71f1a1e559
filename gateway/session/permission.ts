import { z } from 'zod'
import type { SavedApproval } from '#gen/portico/session/v1/session_pb.js'
import {
  ListSavedApprovalsResponseSchema,
  ReplyPermissionRequestRequestSchema,
} from '#gen/portico/session/v1/session_service_pb.js'
import { type JsonOf, noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { nameParameter, sessionParameter } from '../records/ids.ts'
import {
  fromPermissionRequest,
  permissionReply,
  permissionRequest,
  toPermissionReply,
} from '../records/permission-request.ts'
import { limitedBy, mostIn } from '../shape.ts'

const replyBody = z.strictObject({
  reply: permissionReply,
  message: limitedBy(ReplyPermissionRequestRequestSchema.field.message, z.string()).nullish(),
})

const savedApproval = z
  .strictObject({ id: z.string(), projectID: z.string(), action: z.string(), resource: z.string() })
  .meta({ id: 'Permission.Saved', description: 'What a reply `always` has allowed in a project' })

function fromSavedApproval({ approvalId, projectId, action, pattern }: SavedApproval): JsonOf<typeof savedApproval> {
  return { id: approvalId, projectID: projectId, action, resource: pattern }
}

const ofSession = z.object({ sessionID: sessionParameter })
const params = ofSession.extend({ requestID: nameParameter('Permission request') })
const list = z.strictObject({ data: z.array(permissionRequest) })

export const listPermissionRequests = operation({
  id: 'permission.request.list',
  method: 'get',
  path: '/api/permission/request',
  summary: 'Waiting permission requests of the workspace',
  answer: list,
  handle: ({ session }, { call }) => session.listPermissionRequests({}, call.options()),
  present: ({ requests }) => ({ data: requests.map(fromPermissionRequest) }),
})

export const listSessionPermissions = operation({
  id: 'session.permission.list',
  method: 'get',
  path: '/api/session/{sessionID}/permission',
  summary: 'Waiting permission requests of a session and of those below it',
  params: ofSession,
  answer: list,
  handle: ({ session }, { params, call }) =>
    session.listPermissionRequests({ sessionId: params.sessionID }, call.options()),
  present: ({ requests }) => ({ data: requests.map(fromPermissionRequest) }),
})

export const getSessionPermission = operation({
  id: 'session.permission.get',
  method: 'get',
  path: '/api/session/{sessionID}/permission/{requestID}',
  summary: 'One permission request',
  params,
  answer: z.strictObject({ data: permissionRequest }),
  handle: ({ session }, { params: { sessionID: sessionId, requestID: requestId }, call }) =>
    session.getPermissionRequest({ sessionId, requestId }, call.options()),
  present: ({ request }) => ({ data: fromPermissionRequest(request) }),
})

export const replyToSessionPermission = operation({
  id: 'session.permission.reply',
  method: 'post',
  path: '/api/session/{sessionID}/permission/{requestID}/reply',
  summary: 'Replies to a permission request',
  params,
  body: replyBody,
  answer: noContent,
  errors: ['REQUEST_INVALID'],
  handle: ({ session }, { params: { sessionID: sessionId, requestID: requestId }, body, call }) =>
    session.replyPermissionRequest(
      { sessionId, requestId, reply: toPermissionReply(body.reply), message: body.message ?? undefined },
      call.options(),
    ),
})

export const listSavedPermissions = operation({
  id: 'permission.saved.list',
  method: 'get',
  path: '/api/permission/saved',
  summary: `What was permanently allowed, at most ${mostIn(ListSavedApprovalsResponseSchema.field.approvals)}`,
  query: z.object({ projectID: z.string().min(1).optional().meta({ description: 'Only approvals of this project' }) }),
  answer: z.strictObject({ data: z.array(savedApproval) }),
  handle: ({ session }, { query, call }) => session.listSavedApprovals({ projectId: query.projectID }, call.options()),
  present: ({ approvals }) => ({ data: approvals.map(fromSavedApproval) }),
})

export const removeSavedPermission = operation({
  id: 'permission.saved.remove',
  method: 'delete',
  path: '/api/permission/saved/{id}',
  summary: 'Revokes an approval; one that does not exist is not an error',
  params: z.object({ id: nameParameter('Approval') }),
  answer: noContent,
  handle: ({ session }, { params, call }) => session.deleteSavedApproval({ approvalId: params.id }, call.options()),
})
