import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  PartRef_Kind,
  type PartRefSchema,
  type SessionEvent,
  SessionEventSchema,
  type SessionUsageSchema,
} from '#gen/portico/session/v1/event_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type {
  DurableEvent,
  DurableEventData,
  PartRef,
  Usage,
  VolatileEvent,
  VolatileEventData,
} from '../domain/event.ts'
import { blobsIn } from '../domain/message.ts'
import { type BlobContents, itemWithContents, NO_BLOBS, withContent } from './blob-contents.ts'

type Init = NonNullable<MessageInitShape<typeof SessionEventSchema>['event']>

/** An event of a session's own log is durable, and has no position. */
export type AnyEvent = Omit<DurableEvent, 'position'> | DurableEvent | VolatileEvent

/** The blobs that an event refers to. */
export function blobsOfEvent({ data }: AnyEvent): BlobRef[] {
  if (data.type !== 'tool-succeeded' && data.type !== 'tool-failed') return []
  return blobsIn(data.content)
}

/** An event as other services see it. */
export function eventToProto(event: AnyEvent, blobs: BlobContents): SessionEvent {
  const { id, sessionId, directory, timeCreated } = event
  const position = 'position' in event ? event.position : undefined
  const place = 'seq' in event ? { seq: BigInt(event.seq), position } : {}
  return create(SessionEventSchema, {
    eventId: id,
    createTime: timeCreated,
    sessionId,
    directory,
    ...place,
    event: toData(event.data, blobs),
  })
}

function toData(data: DurableEventData | VolatileEventData, blobs: BlobContents): Init {
  switch (data.type) {
    case 'session-created':
      return { case: 'sessionCreated', value: { session: data.session } }
    case 'session-forked':
      return { case: 'sessionForked', value: { fork: data.fork } }
    case 'session-deleted':
      return { case: 'sessionDeleted', value: {} }
    case 'agent-selected':
      return { case: 'agentSelected', value: { agent: data.agent, previous: data.previous } }
    case 'model-selected': {
      const { model, previous } = data
      return {
        case: 'modelSelected',
        value: { model, previous },
      }
    }
    case 'inbox-enqueued':
      return { case: 'inboxEnqueued', value: { item: itemWithContents(data.item, NO_BLOBS) } }
    case 'inbox-delivered':
      return { case: 'inboxDelivered', value: { messageId: data.messageId } }
    case 'inbox-cancelled':
      return { case: 'inboxCancelled', value: { messageId: data.messageId } }
    case 'inbox-delivery-changed': {
      const { messageId, delivery } = data
      return { case: 'inboxDeliveryChanged', value: { messageId, delivery } }
    }
    case 'synthetic-added':
      return { case: 'syntheticAdded', value: { synthetic: data.synthetic } }
    case 'session-moved':
      return { case: 'sessionMoved', value: { location: data.location } }
    case 'execution-started':
      return { case: 'executionStarted', value: {} }
    case 'execution-ended': {
      const { outcome, error, reason } = data
      return { case: 'executionEnded', value: { outcome, reason, error } }
    }
    case 'permission-asked':
      return { case: 'permissionAsked', value: { request: data.request } }
    case 'permission-replied':
      return { case: 'permissionReplied', value: { requestId: data.requestId, reply: data.reply } }
    case 'session-renamed':
    case 'session-metadata-updated':
    case 'session-permissions-updated':
    case 'session-viewed':
    case 'usage-recorded':
      return descriptionToProto(data)
    case 'compaction-started':
    case 'compaction-extended':
    case 'compaction-ended':
    case 'compaction-failed':
      return compactionEventToProto(data)
    default:
      return toStepData(data, blobs)
  }
}

type StepEventData = Exclude<
  Extract<DurableEventData | VolatileEventData, { messageId: string } | { part: PartRef }>,
  CompactionEventData
>
type OtherEventData = { type: 'inbox-delivered' | 'inbox-cancelled' | 'inbox-delivery-changed' | 'synthetic-added' }

function toStepData(data: Exclude<StepEventData, OtherEventData>, blobs: BlobContents): Init {
  switch (data.type) {
    case 'step-started': {
      const { messageId, agent, model } = data
      return { case: 'stepStarted', value: { messageId, agent, model } }
    }
    case 'step-streamed':
      return { case: 'stepStreamed', value: { messageId: data.messageId } }
    case 'step-ended': {
      const { messageId, finish, rawFinish, costNanos, tokens } = data
      const used = { costNanos, tokens, sessionUsage: usageToProto(data.sessionUsage) }
      return { case: 'stepEnded', value: { messageId, finish, rawFinish, ...used } }
    }
    case 'step-failed': {
      const { messageId, finish, usage, sessionUsage } = data
      const used = { usage: usageToProto(usage), sessionUsage: usageToProto(sessionUsage) }
      return { case: 'stepFailed', value: { messageId, error: data.error, finish, ...used } }
    }
    case 'step-retried':
      return { case: 'stepRetried', value: { messageId: data.messageId } }
    case 'retry-scheduled':
      return {
        case: 'retryScheduled',
        value: {
          messageId: data.messageId,
          retry: { attempt: data.attempt, startTime: data.at, error: data.error },
        },
      }
    case 'part-started':
      return { case: 'partStarted', value: { part: toPartRef(data.part) } }
    case 'part-extended':
      return { case: 'partExtended', value: { part: toPartRef(data.part), delta: data.delta } }
    case 'part-ended':
      return {
        case: 'partEnded',
        value: { part: toPartRef(data.part), text: data.text, state: data.state },
      }
    case 'tool-called': {
      const { messageId, callId, input } = data
      return { case: 'toolCalled', value: { messageId, callId, input } }
    }
    case 'tool-progressed': {
      const { messageId, callId, metadata } = data
      return { case: 'toolProgressed', value: { messageId, callId, metadata } }
    }
    case 'tool-succeeded':
      return { case: 'toolSucceeded', value: toToolEnd(data, blobs) }
    case 'tool-failed':
      return { case: 'toolFailed', value: { ...toToolEnd(data, blobs), error: data.error } }
  }
}

function toToolEnd(data: Extract<DurableEventData, { type: 'tool-succeeded' | 'tool-failed' }>, blobs: BlobContents) {
  const { messageId, callId, metadata } = data
  return {
    messageId,
    callId,
    content: data.content.map((each) => withContent(each, blobs)),
    metadata,
  }
}

const kinds = enumTable({
  text: PartRef_Kind.TEXT,
  reasoning: PartRef_Kind.REASONING,
  'tool-input': PartRef_Kind.TOOL_INPUT,
})

function toPartRef({ messageId, kind, ordinal, callId, toolName }: PartRef): MessageInitShape<typeof PartRefSchema> {
  return { messageId, kind: kinds.toProto(kind), ordinal, callId, toolName }
}

type CompactionType = `compaction-${'started' | 'extended' | 'ended' | 'failed'}`

/** An event about the summary of a conversation. */
export type CompactionEventData = Extract<DurableEventData | VolatileEventData, { type: CompactionType }>

export function compactionEventToProto(data: CompactionEventData): Init {
  const { messageId } = data
  switch (data.type) {
    case 'compaction-started':
      return { case: 'compactionStarted', value: { messageId, manual: data.manual, recent: data.recent } }
    case 'compaction-extended':
      return { case: 'compactionExtended', value: { messageId, delta: data.delta } }
    case 'compaction-ended': {
      const { manual, text, recent } = data
      return { case: 'compactionEnded', value: { messageId, manual, text, recent } }
    }
    case 'compaction-failed': {
      const { manual, error } = data
      return { case: 'compactionFailed', value: { messageId, manual, error } }
    }
  }
}

type DescriptionType =
  | 'session-renamed'
  | 'session-metadata-updated'
  | 'session-permissions-updated'
  | 'session-viewed'
  | 'usage-recorded'

function usageToProto(usage: Usage | undefined): MessageInitShape<typeof SessionUsageSchema> | undefined {
  return usage && { costNanos: usage.costNanos, tokens: usage.tokens }
}

/**
 * An event about the title, the metadata or the rules of a session, about a view of it, or about the cost of its title.
 */
export function descriptionToProto(data: Extract<DurableEventData, { type: DescriptionType }>): Init {
  switch (data.type) {
    case 'session-renamed':
      return { case: 'sessionRenamed', value: { title: data.title } }
    case 'session-metadata-updated':
      return { case: 'sessionMetadataUpdated', value: { metadata: data.metadata } }
    case 'session-permissions-updated':
      return { case: 'sessionPermissionsUpdated', value: { permissions: data.permissions } }
    case 'session-viewed':
      return { case: 'sessionViewed', value: { idleTime: data.idleTime } }
    case 'usage-recorded': {
      const { purpose: source, costNanos, tokens, sessionUsage } = data
      const used = { costNanos, tokens, sessionUsage: usageToProto(sessionUsage) }
      return { case: 'usageRecorded', value: { source, ...used } }
    }
  }
}
