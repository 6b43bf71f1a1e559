import type { ServiceImpl } from '@connectrpc/connect'
import {
  type ListMessagesRequest,
  ListMessagesRequestSchema,
  type SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import { bytesOf } from '#services/session/domain/message/size.ts'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { MessageQuery, Page } from '#services/session/ports/session-lists.ts'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { isObject } from '#shared/json.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { parseText } from '#shared/rpc/parse.ts'
import { blobsOf, readWithContents } from '../blob-contents.ts'
import { continuationOf, type Direction, pageTokens } from '../pages.ts'
import { parseOrder } from '../parse.ts'
import { messageToProto } from './message-to-proto.ts'
import { ownTurnFor } from './own-turn-for.ts'

const DEFAULT_PAGE_SIZE = 50
const MAX_TYPE_LENGTH = 64
/** Maximum size of a page with its files, in bytes: it is read, sent and shown in one go. */
const MAX_PAGE_BYTES = 4 * 1_048_576
const checkRequest = checkLimits(ListMessagesRequestSchema)

type Query = Pick<MessageQuery, 'order' | 'type'>

/** Lists the messages of a session by their place in the conversation. A page ends early rather than grow too large. */
export function listMessages(dependencies: {
  readonly store: SessionStore
  readonly blobs: BlobStore
}): ServiceImpl<typeof SessionService>['listMessages'] {
  const { store, blobs } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    checkRequest(request)
    const scope = `messages ${workspaceId} ${request.sessionId}`
    const limit = request.pageSize ?? DEFAULT_PAGE_SIZE
    const continued = continuationOf<Query, { readonly seq: number }>(scope, request.pageToken, isQuery, isSeq)
    const query = continued?.query ?? parseQuery(request)
    const anchor = continued === undefined ? {} : { anchor: continued.anchor }
    const read = async (): Promise<Page<StoredMessage>> => {
      const found = await store.listMessages(workspaceId, request.sessionId, {
        ...query,
        limit,
        bytes: MAX_PAGE_BYTES,
        ...anchor,
      })
      if (found === undefined) throw sessionNotFound(request.sessionId)
      return fitting(found, continued?.anchor.direction)
    }
    const refsOf = ({ items }: Page<StoredMessage>) => items.flatMap(({ message }) => blobsOf(message))
    const key = { workspace: workspaceId, sessionId: request.sessionId }
    const { found: page, contents } = await readWithContents(blobs, key, read, refsOf)
    await ownTurnFor(page.items)
    return {
      messages: page.items.map(({ message }) => messageToProto(message, contents)),
      ...pageTokens(scope, query, page, continued?.anchor.direction, ({ seq }) => ({ seq })),
    }
  }
}

/** The messages of a page that fit, from the end where it was entered; at least one. */
function fitting(page: Page<StoredMessage>, direction: Direction | undefined): Page<StoredMessage> {
  const entered = direction === 'previous' ? page.items.toReversed() : page.items
  let size = 0
  const beyond = entered.findIndex(({ message }, i) => {
    size += bytesOf(message)
    for (const blob of blobsOf(message)) size += blob.size
    return i > 0 && size > MAX_PAGE_BYTES
  })
  if (beyond < 0) return page
  const items = entered.slice(0, beyond)
  return { items: direction === 'previous' ? items.toReversed() : items, more: true }
}

function parseQuery({ order, type }: ListMessagesRequest): Query {
  return {
    order: parseOrder(order),
    ...(type === undefined ? {} : { type: parseText('type', type, 1, MAX_TYPE_LENGTH) }),
  }
}

function isQuery(value: unknown): value is Query {
  if (!isObject(value)) return false
  const { order, type } = value
  return (order === 'ascending' || order === 'descending') && (type === undefined || typeof type === 'string')
}

function isSeq({ seq }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(seq)
}
