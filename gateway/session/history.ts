import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import {
  ListMessagesRequestSchema,
  type StreamSessionContextResponse,
} from '#gen/portico/session/v1/session_service_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { piecesOf } from '../kinds.ts'
import { operation } from '../operation.ts'
import { messageParameter, sessionParameter } from '../records/ids.ts'
import { fromMessage, message } from '../records/message.ts'
import { cursor, fromPage, pageQuery, toOrder, toPageSize } from '../records/page.ts'
import { ListText } from '../records/tool-content.ts'

const TYPES = [
  ...(['user', 'assistant', 'synthetic', 'system', 'skill', 'shell', 'compaction'] as const),
  ...(['agent-switched', 'model-switched', 'location-switched', 'idle'] as const),
] as const

const listMessagesQuery = z.object({
  ...pageQuery,
  limit: pageQuery.limit.meta({
    description: `Maximum number of messages, at most ${limitOf(ListMessagesRequestSchema.field.pageSize).most}; default: 50`,
  }),
  type: z.enum(TYPES).optional().meta({ description: 'Only messages of this type' }),
})

function toListMessages(
  sessionId: string,
  { limit, order, cursor, type }: z.output<typeof listMessagesQuery>,
): MessageInitShape<typeof ListMessagesRequestSchema> {
  return {
    sessionId,
    pageSize: toPageSize(limit),
    pageToken: cursor,
    type,
    order: order && toOrder(order),
  }
}

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

/** The text of a response that lists messages. It yields nothing until the first item, or the end, has arrived. */
async function* contextText(items: AsyncIterable<StreamSessionContextResponse>): AsyncGenerator<string> {
  const list = new ListText()
  let opening = '{"data":['
  for await (const { item } of items) {
    if (item.case === 'message') yield opening + list.item(fromMessage(item.value))
    else if (item.case === 'content') yield list.content(item.value)
    opening = ''
  }
  list.end()
  yield `${opening}]}`
}
