import type { ServiceImpl } from '@connectrpc/connect'
import { type Message, MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import {
  type ListMessagesRequest,
  ListMessagesRequestSchema,
  Order,
  type SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import { isObject } from '#shared/json.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { parseText } from '#shared/rpc/parse.ts'
import { blobsOf, isSummary, type StoredMessage } from '../domain/message.ts'
import { bytesOf } from '../domain/message-size.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { SessionKey } from '../ports/lease.ts'
import type { MessageQuery, Page } from '../ports/session-lists.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { sessionNotFound } from '../ports/session-store.ts'
import { readMessages, type SameSession } from '../run/history/read-messages.ts'
import { readWithContents, withContents } from './blob-contents.ts'
import type { SessionDependencies } from './dependencies.ts'
import { checkReadable, readContent } from './message-stream.ts'
import { continuationOf, type Direction, pageTokens } from './pages.ts'
import { parseOrder } from './parse.ts'

const DEFAULT_PAGE_SIZE = 50
const MAX_TYPE_LENGTH = 64
/** Maximum size of a page with its files, in bytes: it is read, sent and shown in one go. */
const MAX_PAGE_BYTES = 4 * 1_048_576
const checkRequest = checkLimits(ListMessagesRequestSchema)

/** Kinds of messages by the words of clients, such as `agent-switched`. */
const KINDS: ReadonlyMap<string, string> = new Map(
  MessageSchema.oneofs.flatMap(({ fields }) =>
    fields.map(({ name, localName }) => [name.replaceAll('_', '-'), localName] as const),
  ),
)

type Query = Pick<MessageQuery, 'order' | 'type'>

interface Stores {
  readonly store: SessionStore
  readonly blobs: BlobStore
}

export function messageHandlers(dependencies: SessionDependencies) {
  const { store, blobs } = dependencies
  return {
    async getMessage({ sessionId, messageId }, context) {
      const { workspaceId } = principalOf(context)
      const read = async (): Promise<Message> => {
        const message = await store.getMessage(workspaceId, sessionId, messageId)
        if (message !== undefined) return message.message
        if ((await store.getSession(workspaceId, sessionId)) === undefined) throw sessionNotFound(sessionId)
        throw new Rejection('MESSAGE_NOT_FOUND', { session_id: sessionId, message_id: messageId })
      }
      const { record: message, contents } = await readWithContents(
        blobs,
        { workspace: workspaceId, sessionId },
        read,
        blobsOf,
      )
      await ownTurnFor(message)
      return { message: withContents(message, contents) }
    },
    /**
     * Lists the messages of a session by their place in the conversation. A page ends early rather than grow too large.
     */
    async listMessages(request, context) {
      const { workspaceId } = principalOf(context)
      checkRequest(request)
      const scope = `messages ${workspaceId} ${request.sessionId}`
      const limit = request.pageSize ?? DEFAULT_PAGE_SIZE
      const continued = continuationOf<Query, { readonly seq: number }>(scope, request.pageToken, isQuery, isSeq)
      const query = continued?.query ?? parseQuery(request)
      const read = async (): Promise<Page<StoredMessage>> => {
        const listed = await store.listMessages(workspaceId, request.sessionId, {
          ...query,
          type: query.type && (KINDS.get(query.type) ?? ''),
          limit,
          bytes: MAX_PAGE_BYTES,
          anchor: continued?.anchor,
        })
        if (listed === undefined) throw sessionNotFound(request.sessionId)
        return fitting(listed, continued?.anchor.direction)
      }
      const refsOf = ({ items }: Page<StoredMessage>) => items.flatMap(({ message }) => blobsOf(message))
      const key = { workspace: workspaceId, sessionId: request.sessionId }
      const { record: page, contents } = await readWithContents(blobs, key, read, refsOf)
      await ownTurnFor(page.items)
      return {
        messages: page.items.map(({ message }) => withContents(message, contents)),
        ...pageTokens(scope, query, page, continued?.anchor.direction, ({ seq }) => ({ seq })),
      }
    },
    /**
     * Streams the messages that the next step of a session is made from; see `exportSession` for what is read before
     * the first one.
     */
    async *streamSessionContext({ sessionId }, context) {
      const { workspaceId: workspace } = principalOf(context)
      const same: SameSession = {}
      const { before, last } = await findContext(dependencies, { workspace, sessionId }, same)
      for await (const stored of readMessages(store, workspace, sessionId, Order.ASCENDING, { beyond: before, same })) {
        if (stored.seq > last) break
        yield { item: { case: 'message', value: stored.message } }
        for await (const value of readContent(dependencies, { workspace, sessionId }, stored))
          yield { item: { case: 'content', value } }
      }
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
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
    type: type && parseText('type', type, 1, MAX_TYPE_LENGTH),
  }
}

function isQuery(value: unknown): value is Query {
  if (!isObject(value)) return false
  const { order, type } = value
  return (order === Order.ASCENDING || order === Order.DESCENDING) && (type === undefined || typeof type === 'string')
}

function isSeq({ seq }: Record<string, unknown>): boolean {
  return Number.isSafeInteger(seq)
}

/** The place before the first message of the context, and that of the last one. */
async function findContext(stores: Stores, key: SessionKey, same: SameSession) {
  let last = 0
  for await (const stored of readMessages(stores.store, key.workspace, key.sessionId, Order.DESCENDING, { same })) {
    last ||= stored.seq
    await checkReadable(stores, key, stored)
    if (isSummary(stored.message)) return { before: stored.seq - 1, last }
  }
  return { before: 0, last }
}

const LARGE = 1_048_576

/** Waits for a turn of the event loop if messages are large, since what follows takes as long as they are large. */
export async function ownTurnFor(messages: unknown): Promise<void> {
  if (bytesOf(messages) > LARGE) await ownTurn()
}
