import { z } from 'zod'
import { piecesOf } from '../kinds.ts'
import { operation } from '../operation.ts'
import { messageParameter, sessionParameter } from '../records/ids.ts'
import { fromMessage, message } from '../records/message.ts'
import { cursor, fromPage } from '../records/page.ts'
import { toListMessages } from './mappers.ts'
import { listMessagesQuery } from './schemas.ts'
import { contextText } from './texts.ts'

export const listMessages = operation({
  id: 'session.messages',
  method: 'get',
  path: '/api/session/{sessionID}/message',
  summary: 'The history of a session, a page at a time',
  description:
    'A page has fewer messages than `limit` if they would have more than 4 MiB together with their files, but at least one; ' +
    '`cursor.next` continues after the last of them.',
  params: z.object({ sessionID: sessionParameter }),
  query: listMessagesQuery,
  answer: z.strictObject({ data: z.array(message), cursor }),
  errors: ['INVALID_CURSOR', 'REQUEST_INVALID'],
  handle: ({ session }, { params, query, call }) =>
    session.listMessages(toListMessages(params.sessionID, query), call.options()),
  present: (page) => ({ data: page.messages.map(fromMessage), cursor: fromPage(page) }),
})

export const getMessage = operation({
  id: 'session.message',
  method: 'get',
  path: '/api/session/{sessionID}/message/{messageID}',
  summary: 'One message of a session',
  params: z.object({ sessionID: sessionParameter, messageID: messageParameter }),
  answer: z.strictObject({ data: message }),
  handle: ({ session }, { params, call }) =>
    session.getMessage({ sessionId: params.sessionID, messageId: params.messageID }, call.options()),
  present: ({ message }) => ({ data: fromMessage(message) }),
})

export const getContext = operation({
  id: 'session.context',
  method: 'get',
  path: '/api/session/{sessionID}/context',
  summary: 'The messages of a session since its last compaction',
  description:
    'In order, beginning with the compaction; all of them if there is none. A stored message that cannot be read is an ' +
    'UnknownError; a failure after the first byte ends the connection.',
  params: z.object({ sessionID: sessionParameter }),
  answer: piecesOf(z.strictObject({ data: z.array(message) })),
  handle: ({ session }, { params, call }) =>
    contextText(session.streamSessionContext({ sessionId: params.sessionID }, call.options())),
})
