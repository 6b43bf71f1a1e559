import { callOf } from '../call.ts'
import { type Facade, nameParameter, type Route, sessionParameter } from '../facade.ts'
import { checkBody, readJson } from '../http/body.ts'
import { sendJson, sendNothing } from '../http/respond.ts'
import { permissionReplyBody, permissionRequest } from '../schemas/permission.ts'

/** Permission requests that wait for an answer, and the answers. */
export function permissionRoutes({ clients: { session }, config }: Facade): Route[] {
  return [
    {
      operation: 'permission.request.list',
      method: 'get',
      path: '/api/permission/request',
      async handle(_, response) {
        const { requests } = await session.listPermissionRequests({}, callOf(response).options())
        sendJson(response, 200, { data: requests.map(permissionRequest) })
      },
    },
    {
      operation: 'session.permission.list',
      method: 'get',
      path: '/api/session/:sessionID/permission',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const { requests } = await session.listPermissionRequests({ sessionId }, callOf(response).options())
        sendJson(response, 200, { data: requests.map(permissionRequest) })
      },
    },
    {
      operation: 'session.permission.get',
      method: 'get',
      path: '/api/session/:sessionID/permission/:requestID',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const requestId = nameParameter(request, 'requestID')
        const answer = await session.getPermissionRequest({ sessionId, requestId }, callOf(response).options())
        sendJson(response, 200, { data: permissionRequest(answer.request) })
      },
    },
    {
      operation: 'session.permission.reply',
      method: 'post',
      path: '/api/session/:sessionID/permission/:requestID/reply',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const requestId = nameParameter(request, 'requestID')
        const { reply, message } = checkBody(permissionReplyBody, await readJson(request, config.bodyLimit))
        await session.replyPermissionRequest({ sessionId, requestId, reply, message }, callOf(response).options())
        sendNothing(response)
      },
    },
  ]
}
