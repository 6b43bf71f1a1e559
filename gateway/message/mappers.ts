import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import {
  type ListMessagesRequestSchema,
  ListMessagesRequest_Order as Order,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { listMessagesQuery } from './schemas.ts'

const ORDERS = { asc: Order.ASCENDING, desc: Order.DESCENDING } as const

export function toListMessages(
  sessionId: string,
  { limit, order, cursor, type }: z.output<typeof listMessagesQuery>,
): MessageInitShape<typeof ListMessagesRequestSchema> {
  return {
    sessionId,
    pageSize: limit === undefined ? 0 : Number(limit),
    pageToken: cursor ?? '',
    type: type ?? '',
    ...(order === undefined ? {} : { order: ORDERS[order] }),
  }
}
