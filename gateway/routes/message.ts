import { ListMessagesRequest_Order } from '#gen/portico/session/v1/session_service_pb.js'
import { callOf } from '../call.ts'
import { type Facade, messageParameter, type Route, sessionParameter } from '../facade.ts'
import { queryInteger, queryText, queryWord, readQuery } from '../http/query.ts'
import { sendJson } from '../http/respond.ts'
import { messageInfo } from '../schemas/message.ts'
import { pageCursor } from '../schemas/page.ts'

const ORDERS = { asc: ListMessagesRequest_Order.ASCENDING, desc: ListMessagesRequest_Order.DESCENDING } as const

/** The history of a session: 1 to 200 messages a page, 50 by default, newest first by default. */
export function messageRoutes({ clients: { session } }: Facade): Route[] {
  return [
    {
      operation: 'session.messages',
      method: 'get',
      path: '/api/session/:sessionID/message',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const query = readQuery(request)
        const pageSize = queryInteger(query, 'limit', 1, 200) ?? 0
        const order = queryWord(query, 'order', ['asc', 'desc'])
        const page = await session.listMessages(
          {
            sessionId,
            pageSize,
            pageToken: queryText(query, 'cursor') ?? '',
            ...(order === undefined ? {} : { order: ORDERS[order] }),
          },
          callOf(response).options(),
        )
        sendJson(response, 200, { data: page.messages.map(messageInfo), cursor: pageCursor(page) })
      },
    },
    {
      operation: 'session.message',
      method: 'get',
      path: '/api/session/:sessionID/message/:messageID',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const messageId = messageParameter(request)
        const { message } = await session.getMessage({ sessionId, messageId }, callOf(response).options())
        if (message === undefined) throw new Error('The session service answered without a message')
        sendJson(response, 200, { data: messageInfo(message) })
      },
    },
  ]
}
