import type { ServiceImpl } from '@connectrpc/connect'
import { ListMessagesRequest_Order, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { principalOf } from '#shared/call-context.ts'
import type { BlobStore, MessageQuery, SessionStore } from '../ports.ts'
import { readBlobs } from './blob-contents.ts'
import { sessionNotFound } from './get-session.ts'
import { messageToProto } from './message-to-proto.ts'
import { continuationOf, pageTokens } from './pages.ts'
import { invalid, parsePageSize } from './parse.ts'

const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 200

type Order = MessageQuery['order']

/** Lists the messages of a session by their place in the conversation. */
export function listMessages(dependencies: {
  readonly store: SessionStore
  readonly blobs: BlobStore
}): ServiceImpl<typeof SessionService>['listMessages'] {
  const { store, blobs } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const scope = `messages ${workspaceId} ${request.sessionId}`
    const limit = parsePageSize(request.pageSize, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
    const continued = continuationOf<Order, { readonly seq: number }>(scope, request.pageToken, isOrder, isSeq)
    const order = continued?.query ?? parseOrder(request.order)
    const anchor = continued === undefined ? {} : { anchor: continued.anchor }
    const page = await store.listMessages(workspaceId, request.sessionId, { order, limit, ...anchor })
    if (page === undefined) throw sessionNotFound(request.sessionId)
    const messages = page.items.map(({ message }) => message)
    const contents = await readBlobs(blobs, workspaceId, messages)
    return {
      messages: messages.map((message) => messageToProto(message, contents)),
      ...pageTokens(scope, order, page, continued?.anchor.direction, ({ seq }) => ({ seq })),
    }
  }
}

function parseOrder(order: ListMessagesRequest_Order): Order {
  switch (order) {
    case ListMessagesRequest_Order.UNSPECIFIED:
    case ListMessagesRequest_Order.DESCENDING:
      return 'descending'
    case ListMessagesRequest_Order.ASCENDING:
      return 'ascending'
    default:
      throw invalid('order', 'must be ORDER_ASCENDING or ORDER_DESCENDING')
  }
}

function isOrder(value: unknown): value is Order {
  return value === 'ascending' || value === 'descending'
}

function isSeq({ seq }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(seq)
}
