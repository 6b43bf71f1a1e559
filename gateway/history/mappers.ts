import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { ListMessagesRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { toOrder, toPageSize } from '../records/page.ts'
import type { listMessagesQuery } from './schemas.ts'

export function toListMessages(
  sessionId: string,
  { limit, order, cursor, type }: z.output<typeof listMessagesQuery>,
): MessageInitShape<typeof ListMessagesRequestSchema> {
  return {
    sessionId,
    pageSize: toPageSize(limit),
    pageToken: cursor,
    type,
    ...(order === undefined ? {} : { order: toOrder(order) }),
  }
}
