import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import { FileInputSchema } from '#gen/portico/session/v1/session_pb.js'
import {
  type AddSyntheticInputRequestSchema,
  type CompactSessionRequestSchema,
  ListInboxItemsResponseSchema,
  PromptSessionRequestSchema,
} from '#gen/portico/session/v1/session_service_pb.js'
import { timedId } from '#shared/ids.ts'
import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { sentMetadata, toStruct } from '../records/free.ts'
import { inboxParameter, messageID, sessionParameter } from '../records/ids.ts'
import { fromInboxItem, fromInboxItemOf, inboxCompaction, inboxItem, inboxSynthetic } from '../records/inbox-item.ts'
import { delivery, toDelivery } from '../records/prompt.ts'
import { limitedBy, mostIn } from '../shape.ts'

const syntheticBody = z.strictObject({
  id: messageID.nullish(),
  text: limitedBy(PromptSessionRequestSchema.field.text, z.string()),
  description: limitedBy(FileInputSchema.field.description, z.string()).nullish(),
  metadata: sentMetadata.nullish(),
  delivery: delivery.nullish(),
  resume: z.boolean().nullish(),
})

const compactBody = z.strictObject({ id: messageID.nullish(), delivery: delivery.nullish() }).nullish()

const updateItemBody = z.strictObject({ delivery })

/** `newId` is taken when the body has none; minted here, so that a repeated call admits nothing twice. */
function toAddSyntheticInput(
  sessionId: string,
  { id, text, description, metadata, delivery, resume }: z.output<typeof syntheticBody>,
  newId: () => string,
): MessageInitShape<typeof AddSyntheticInputRequestSchema> {
  return {
    sessionId,
    messageId: id ?? newId(),
    synthetic: {
      text,
      description: description ?? undefined,
      metadata: metadata == null ? undefined : toStruct(metadata),
    },
    parked: resume === false,
    delivery: delivery == null ? undefined : toDelivery(delivery),
  }
}

/** `newId` as with a synthetic text. */
function toCompactSession(
  sessionId: string,
  body: z.output<typeof compactBody>,
  newId: () => string,
): MessageInitShape<typeof CompactSessionRequestSchema> {
  const { id, delivery } = body ?? {}
  return { sessionId, messageId: id ?? newId(), delivery: delivery == null ? undefined : toDelivery(delivery) }
}

const ofSession = z.object({ sessionID: sessionParameter })
const params = ofSession.extend({ inboxID: inboxParameter })

export const addSynthetic = operation({
  id: 'session.synthetic',
  method: 'post',
  path: '/api/session/{sessionID}/synthetic',
  summary: 'Adds a text that is not from a user and starts a run, unless `resume` is false',
  description:
    'The model receives it as input. With an id that was sent before, returns the item that it admitted, unless that was ' +
    'cancelled.',
  params: ofSession,
  body: syntheticBody,
  limit: 'promptLimit',
  answer: z.strictObject({ data: inboxSynthetic }),
  errors: ['PROMPT_CONFLICT', 'INBOX_ITEM_CANCELLED', 'INBOX_FULL', 'REQUEST_INVALID'],
  handle: ({ session }, { params, body, call, facade: { clock } }) =>
    session.addSyntheticInput(
      toAddSyntheticInput(params.sessionID, body, () => timedId('msg', clock)),
      call.options(),
    ),
  present: ({ item }) => ({ data: fromInboxItemOf('synthetic', item) }),
})

export const compactSession = operation({
  id: 'session.compact',
  method: 'post',
  path: '/api/session/{sessionID}/compact',
  summary: 'Has the conversation summarized, so that it continues with less context',
  description:
    'It enters ahead of the steers that wait, but never across a move. If one waits already, returns that one; with an id that was sent ' +
    'before, the item that it admitted, unless that was cancelled.',
  params: ofSession,
  body: compactBody,
  answer: z.strictObject({ data: inboxCompaction }),
  errors: ['PROMPT_CONFLICT', 'INBOX_ITEM_CANCELLED', 'INBOX_FULL'],
  handle: ({ session }, { params, body, call, facade: { clock } }) =>
    session.compactSession(
      toCompactSession(params.sessionID, body, () => timedId('msg', clock)),
      call.options(),
    ),
  present: ({ item }) => ({ data: fromInboxItemOf('compaction', item) }),
})

export const listInboxItems = operation({
  id: 'session.inbox.list',
  method: 'get',
  path: '/api/session/{sessionID}/inbox',
  summary: 'Admitted items that have not entered the conversation yet, in order of admission',
  description: `At most the oldest ${mostIn(ListInboxItemsResponseSchema.field.items)} items, with at most 40 MiB of content together.`,
  params: ofSession,
  answer: z.strictObject({ data: z.array(inboxItem) }),
  handle: ({ session }, { params, call }) => session.listInboxItems({ sessionId: params.sessionID }, call.options()),
  present: ({ items }) => ({ data: items.map(fromInboxItem) }),
})

export const updateInboxItem = operation({
  id: 'session.inbox.update',
  method: 'patch',
  path: '/api/session/{sessionID}/inbox/{inboxID}',
  summary: 'Changes when an item enters the conversation; `steer` starts a run',
  params,
  body: updateItemBody,
  answer: noContent,
  errors: ['INBOX_ITEM_CONFLICT'],
  handle: ({ session }, { params: { sessionID: sessionId, inboxID: messageId }, body, call }) =>
    session.changeInboxDelivery({ sessionId, messageId, delivery: toDelivery(body.delivery) }, call.options()),
})

export const cancelInboxItem = operation({
  id: 'session.inbox.cancel',
  method: 'delete',
  path: '/api/session/{sessionID}/inbox/{inboxID}',
  summary: 'Cancels an item that has not entered the conversation; no effect on one that has, or that never existed',
  params,
  answer: noContent,
  handle: ({ session }, { params: { sessionID: sessionId, inboxID: messageId }, call }) =>
    session.cancelInboxItem({ sessionId, messageId }, call.options()),
})
