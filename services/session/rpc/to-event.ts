import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  PartRef_Kind,
  type PartRefSchema,
  type SessionEvent,
  SessionEventSchema,
} from '#gen/portico/session/v1/event_pb.js'
import type { DurableEvent, DurableEventData, PartRef, VolatileEvent, VolatileEventData } from '../domain/event.ts'
import type { BlobRef } from '../domain/message.ts'
import { blobsOfContent, type LoadedBlobs } from './load-blobs.ts'
import { toContents, toError, toRetry } from './to-message.ts'
import { toPermissionRequest, toReply } from './to-permission.ts'
import { toInboxItem } from './to-prompt.ts'
import { toModelRef, toOutcome, toSession, toTimestamp, toTokenUsage } from './to-session.ts'

type Init = NonNullable<MessageInitShape<typeof SessionEventSchema>['event']>

/** What an event refers to. */
export function blobsOfEvent({ data }: DurableEvent | VolatileEvent): BlobRef[] {
  return data.type === 'tool-succeeded' || data.type === 'tool-failed' ? blobsOfContent(data.content) : []
}

/** An event as a message. */
export function toEvent(event: DurableEvent | VolatileEvent, blobs: LoadedBlobs): SessionEvent {
  const { id, sessionId, directory, timeCreated } = event
  const place = 'position' in event ? { seq: BigInt(event.seq), position: event.position } : {}
  return create(SessionEventSchema, {
    ...{ eventId: id, createTime: toTimestamp(timeCreated), sessionId, directory, ...place },
    event: toData(event.data, blobs),
  })
}

function toData(data: DurableEventData | VolatileEventData, blobs: LoadedBlobs): Init {
  switch (data.type) {
    case 'session-created':
      return { case: 'sessionCreated', value: { session: toSession(data.session) } }
    case 'agent-selected':
      return { case: 'agentSelected', value: { agent: data.agent, previous: data.previous ?? '' } }
    case 'model-selected': {
      const previous = data.previous === undefined ? {} : { previous: toModelRef(data.previous) }
      return { case: 'modelSelected', value: { model: toModelRef(data.model), ...previous } }
    }
    case 'inbox-enqueued':
      return { case: 'inboxEnqueued', value: { item: toInboxItem(data.item, undefined) } }
    case 'inbox-delivered':
      return { case: 'inboxDelivered', value: { messageId: data.messageId } }
    case 'execution-started':
      return { case: 'executionStarted', value: {} }
    case 'execution-ended': {
      const { outcome, error, reason = '' } = data
      const why = error === undefined ? {} : { error: toError(error) }
      return { case: 'executionEnded', value: { outcome: toOutcome(outcome), reason, ...why } }
    }
    case 'permission-asked':
      return { case: 'permissionAsked', value: { request: toPermissionRequest(data.request) } }
    case 'permission-replied':
      return { case: 'permissionReplied', value: { requestId: data.requestId, reply: toReply(data.reply) } }
    default:
      return toStepData(data, blobs)
  }
}

type StepEventData = Extract<DurableEventData | VolatileEventData, { messageId: string } | { part: PartRef }>

function toStepData(data: Exclude<StepEventData, { type: 'inbox-delivered' }>, blobs: LoadedBlobs): Init {
  switch (data.type) {
    case 'step-started': {
      const { messageId, agent, model } = data
      return { case: 'stepStarted', value: { messageId, agent, model: toModelRef(model) } }
    }
    case 'step-streamed':
      return { case: 'stepStreamed', value: { messageId: data.messageId } }
    case 'step-ended': {
      const { messageId, finish, rawFinish = '', costNanos, tokens } = data
      return { case: 'stepEnded', value: { messageId, finish, rawFinish, costNanos, tokens: toTokenUsage(tokens) } }
    }
    case 'step-failed':
      return { case: 'stepFailed', value: { messageId: data.messageId, error: toError(data.error) } }
    case 'retry-scheduled':
      return { case: 'retryScheduled', value: { messageId: data.messageId, retry: toRetry(data) } }
    case 'part-started':
      return { case: 'partStarted', value: { part: toPartRef(data.part) } }
    case 'part-extended':
      return { case: 'partExtended', value: { part: toPartRef(data.part), delta: data.delta } }
    case 'part-ended':
      return { case: 'partEnded', value: { part: toPartRef(data.part), text: data.text } }
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
      return { case: 'toolFailed', value: { ...toToolEnd(data, blobs), error: toError(data.error) } }
  }
}

function toToolEnd(data: Extract<DurableEventData, { type: 'tool-succeeded' | 'tool-failed' }>, blobs: LoadedBlobs) {
  const { messageId, callId, metadata } = data
  return {
    messageId,
    callId,
    content: toContents(data.content, blobs),
    ...(metadata === undefined ? {} : { metadata }),
  }
}

const KINDS = { text: PartRef_Kind.TEXT, reasoning: PartRef_Kind.REASONING, 'tool-input': PartRef_Kind.TOOL_INPUT }

function toPartRef({
  messageId,
  kind,
  ordinal,
  callId = '',
  toolName = '',
}: PartRef): MessageInitShape<typeof PartRefSchema> {
  return { messageId, kind: KINDS[kind], ordinal, callId, toolName }
}
