import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { InboxItem } from '#gen/portico/session/v1/session_pb.js'
import type {
  AddSyntheticInputRequestSchema,
  CompactSessionRequestSchema,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonOf } from '../kinds.ts'
import { toStruct } from '../records/free.ts'
import { fromInboxItem, type inboxCompaction, type inboxSynthetic } from '../records/inbox-item.ts'
import { toDelivery } from '../records/prompt.ts'
import type { compactBody, syntheticBody } from './schemas.ts'

/** `newId` is taken when the body has none; minted here, so that a repeated call admits nothing twice. */
export function toAddSyntheticInput(
  sessionId: string,
  { id, text, description, metadata, delivery, resume }: z.output<typeof syntheticBody>,
  newId: () => string,
): MessageInitShape<typeof AddSyntheticInputRequestSchema> {
  return {
    sessionId,
    messageId: id ?? newId(),
    synthetic: {
      text,
      ...(description == null ? {} : { description }),
      ...(metadata == null ? {} : { metadata: toStruct(metadata) }),
    },
    parked: resume === false,
    ...(delivery == null ? {} : { delivery: toDelivery(delivery) }),
  }
}

export function fromSyntheticItem(given: InboxItem | undefined): JsonOf<typeof inboxSynthetic> {
  const item = fromInboxItem(given)
  if (item.type !== 'synthetic') throw new Error('The session service returned another kind of item')
  return item
}

/** `newId` as with a synthetic text. */
export function toCompactSession(
  sessionId: string,
  body: z.output<typeof compactBody>,
  newId: () => string,
): MessageInitShape<typeof CompactSessionRequestSchema> {
  const { id, delivery } = body ?? {}
  return { sessionId, messageId: id ?? newId(), ...(delivery == null ? {} : { delivery: toDelivery(delivery) }) }
}

export function fromCompactionItem(given: InboxItem | undefined): JsonOf<typeof inboxCompaction> {
  const item = fromInboxItem(given)
  if (item.type !== 'compaction') throw new Error('The session service returned another kind of item')
  return item
}
