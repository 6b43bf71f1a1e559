import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantMessageSchema,
  type AssistantPart,
  Compaction_Status,
  type CompactionSchema,
  type MessageSchema,
} from '#gen/portico/session/v1/message_pb.js'
import type { InboxItemSchema } from '#gen/portico/session/v1/session_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { InboxItem } from '../domain/inbox.ts'
import { type AssistantMessage, blobIn, type CompactionMessage, type Message } from '../domain/message.ts'
import { type BlobContents, withContent, withFiles } from './blob-contents.ts'
import { deliveries } from './enums.ts'

/** How far a compaction is. */
export const compactionStatuses = enumTable({
  running: Compaction_Status.RUNNING,
  completed: Compaction_Status.COMPLETED,
  failed: Compaction_Status.FAILED,
})

/** A message as other services see it, with the content of its files. */
export function messageToProto(message: Message, blobs: BlobContents): MessageInitShape<typeof MessageSchema> {
  return {
    messageId: message.id,
    createTime: message.timeCreated,
    kind: kindToProto(message, blobs),
    metadata: message.metadata,
  }
}

type Kind = NonNullable<MessageInitShape<typeof MessageSchema>['kind']>

function kindToProto(message: Message, blobs: BlobContents): Kind {
  switch (message.type) {
    case 'user':
      return { case: 'user', value: withFiles(message.prompt, blobs) }
    case 'assistant':
      return { case: 'assistant', value: assistantToProto(message, blobs) }
    case 'agent-switched':
      return { case: 'agentSwitched', value: { agent: message.agent, previous: message.previous } }
    case 'model-switched': {
      const { model, previous } = message
      return {
        case: 'modelSwitched',
        value: { model, previous },
      }
    }
    case 'synthetic':
      return { case: 'synthetic', value: message.synthetic }
    case 'location-switched': {
      const { location, previous } = message
      const value = {
        location,
        previous,
      }
      return { case: 'locationSwitched', value }
    }
    case 'idle': {
      const { outcome, error } = message
      return { case: 'idle', value: { outcome, error } }
    }
    case 'system':
      return { case: 'system', value: message.system }
    case 'skill':
      return { case: 'skill', value: message.skill }
    case 'shell':
      return { case: 'shell', value: message.shell }
    case 'compaction':
      return { case: 'compaction', value: compactionToProto(message) }
  }
}

function assistantToProto(
  message: AssistantMessage,
  blobs: BlobContents,
): MessageInitShape<typeof AssistantMessageSchema> {
  const { costNanos, tokens, error, retry, timeStreamed, timeCompleted, snapshot, providerState } = message
  return {
    agent: message.agent,
    model: message.model,
    parts: message.parts.map((part) => partWithContent(part, blobs)),
    finish: message.finish,
    rawFinish: message.rawFinish,
    costNanos,
    providerState,
    snapshot,
    tokens,
    error,
    streamTime: timeStreamed,
    completeTime: timeCompleted,
    retry,
  }
}

function compactionToProto(message: CompactionMessage): MessageInitShape<typeof CompactionSchema> {
  const { status, manual, summary, recent, model, providerState, providerContext, costNanos, tokens, error } = message
  return {
    status: compactionStatuses.toProto(status),
    manual,
    summary,
    recent,
    providerState,
    providerContext,
    costNanos,
    model,
    tokens,
    error,
  }
}

function partWithContent(whole: AssistantPart, blobs: BlobContents): AssistantPart {
  const { part } = whole
  if (part.case !== 'tool' || part.value.content.length === 0) return whole
  const content = part.value.content.map((piece) => withContent(piece, blobs))
  return { ...whole, part: { case: 'tool', value: { ...part.value, content } } }
}

type ItemInit = MessageInitShape<typeof InboxItemSchema>

/** An inbox item as other services see it, with the content of its files. */
export function itemToProto(item: InboxItem, blobs: BlobContents): ItemInit {
  const { id, sessionId, timeCreated, delivery } = item
  return {
    messageId: id,
    sessionId,
    createTime: timestampFromMs(timeCreated),
    delivery: deliveries.toProto(delivery),
    payload: payloadToProto(item, blobs),
  }
}

/** The blobs that an inbox item refers to. */
export function blobsOfItem(item: InboxItem): readonly BlobRef[] {
  return item.type === 'prompt' ? item.prompt.files.flatMap(blobIn) : []
}

function payloadToProto(item: InboxItem, blobs: BlobContents): NonNullable<ItemInit['payload']> {
  switch (item.type) {
    case 'prompt':
      return { case: 'prompt', value: withFiles(item.prompt, blobs) }
    case 'synthetic':
      return { case: 'synthetic', value: item.synthetic }
    case 'move':
      return { case: 'move', value: item.move }
    case 'compaction':
      return { case: 'compaction', value: {} }
  }
}
