import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  PartRef_Kind,
  type PartRefSchema,
  type SessionEvent,
  SessionEventSchema,
} from '#gen/portico/session/v1/event_pb.js'
import type {
  DurableEvent,
  DurableEventData,
  PartRef,
  VolatileEvent,
  VolatileEventData,
} from '#services/session/domain/event.ts'
import type { BlobRef } from '#services/session/domain/message.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { type BlobContents, NO_BLOBS } from '../blob-contents.ts'
import { deliveries, outcomes, replies } from '../enums.ts'
import { itemToProto } from '../inbox/item-to-proto.ts'
import { errorToProto, syntheticToProto, toolContentToProto } from '../message/content-to-proto.ts'
import { permissionRequestToProto } from '../permission/permission-request-to-proto.ts'
import {
  forkToProto,
  locationToProto,
  modelToProto,
  sessionToProto,
  tokensToProto,
} from '../session/session-to-proto.ts'
import { type CompactionEventData, compactionToProto } from './compaction-to-proto.ts'
import { descriptionToProto, usageToProto } from './description-to-proto.ts'

type Init = NonNullable<MessageInitShape<typeof SessionEventSchema>['event']>

/** An event of a session's own log is durable, and has no position. */
export type AnyEvent = Omit<DurableEvent, 'position'> | DurableEvent | VolatileEvent

/** The blobs that an event refers to. */
export function blobsOfEvent({ data }: AnyEvent): BlobRef[] {
  if (data.type !== 'tool-succeeded' && data.type !== 'tool-failed') return []
  return data.content.flatMap((content) => (content.type === 'file' ? [content.blob] : []))
}

/** An event as other services see it. */
export function eventToProto(event: AnyEvent, blobs: BlobContents): SessionEvent {
  const { id, sessionId, directory, timeCreated } = event
  const position = 'position' in event ? event.position : undefined
  const place = 'seq' in event ? { seq: BigInt(event.seq), position } : {}
  return create(SessionEventSchema, {
    eventId: id,
    createTime: timestampFromMs(timeCreated),
    sessionId,
    directory,
    ...place,
    event: toData(event.data, blobs),
  })
}

function toData(data: DurableEventData | VolatileEventData, blobs: BlobContents): Init {
  switch (data.type) {
    case 'session-created':
      return { case: 'sessionCreated', value: { session: sessionToProto(data.session) } }
    case 'session-forked':
      return { case: 'sessionForked', value: { fork: forkToProto(data.fork) } }
    case 'session-deleted':
      return { case: 'sessionDeleted', value: {} }
    case 'agent-selected':
      return { case: 'agentSelected', value: { agent: data.agent, previous: data.previous } }
    case 'model-selected': {
      const previous = data.previous === undefined ? {} : { previous: modelToProto(data.previous) }
      return { case: 'modelSelected', value: { model: modelToProto(data.model), ...previous } }
    }
    case 'inbox-enqueued':
      return { case: 'inboxEnqueued', value: { item: itemToProto(data.item, NO_BLOBS) } }
    case 'inbox-delivered':
      return { case: 'inboxDelivered', value: { messageId: data.messageId } }
    case 'inbox-cancelled':
      return { case: 'inboxCancelled', value: { messageId: data.messageId } }
    case 'inbox-delivery-changed': {
      const { messageId, delivery } = data
      return { case: 'inboxDeliveryChanged', value: { messageId, delivery: deliveries.toProto(delivery) } }
    }
    case 'synthetic-added':
      return { case: 'syntheticAdded', value: { synthetic: syntheticToProto(data.synthetic) } }
    case 'session-moved':
      return { case: 'sessionMoved', value: { location: locationToProto(data.location) } }
    case 'execution-started':
      return { case: 'executionStarted', value: {} }
    case 'execution-ended': {
      const { outcome, error, reason } = data
      const why = error === undefined ? {} : { error: errorToProto(error) }
      return { case: 'executionEnded', value: { outcome: outcomes.toProto(outcome), reason, ...why } }
    }
    case 'permission-asked':
      return { case: 'permissionAsked', value: { request: permissionRequestToProto(data.request) } }
    case 'permission-replied':
      return { case: 'permissionReplied', value: { requestId: data.requestId, reply: replies.toProto(data.reply) } }
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
      return compactionToProto(data)
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
      return { case: 'stepStarted', value: { messageId, agent, model: modelToProto(model) } }
    }
    case 'step-streamed':
      return { case: 'stepStreamed', value: { messageId: data.messageId } }
    case 'step-ended': {
      const { messageId, finish, rawFinish, costNanos, tokens } = data
      const used = { costNanos, tokens: tokensToProto(tokens), ...usageToProto('sessionUsage', data.sessionUsage) }
      return { case: 'stepEnded', value: { messageId, finish, rawFinish, ...used } }
    }
    case 'step-failed': {
      const { messageId, finish, usage, sessionUsage } = data
      const used = { ...usageToProto('usage', usage), ...usageToProto('sessionUsage', sessionUsage) }
      return { case: 'stepFailed', value: { messageId, error: errorToProto(data.error), finish, ...used } }
    }
    case 'step-retried':
      return { case: 'stepRetried', value: { messageId: data.messageId } }
    case 'retry-scheduled':
      return {
        case: 'retryScheduled',
        value: {
          messageId: data.messageId,
          retry: { attempt: data.attempt, startTime: timestampFromMs(data.at), error: errorToProto(data.error) },
        },
      }
    case 'part-started':
      return { case: 'partStarted', value: { part: toPartRef(data.part) } }
    case 'part-extended':
      return { case: 'partExtended', value: { part: toPartRef(data.part), delta: data.delta } }
    case 'part-ended':
      return {
        case: 'partEnded',
        value: { part: toPartRef(data.part), text: data.text, ...(data.state && { state: data.state }) },
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
      return { case: 'toolFailed', value: { ...toToolEnd(data, blobs), error: errorToProto(data.error) } }
  }
}

function toToolEnd(data: Extract<DurableEventData, { type: 'tool-succeeded' | 'tool-failed' }>, blobs: BlobContents) {
  const { messageId, callId, metadata } = data
  return {
    messageId,
    callId,
    content: data.content.map((each) => toolContentToProto(each, blobs)),
    ...(metadata === undefined ? {} : { metadata }),
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
