import type { ExecutionEnded, SessionCreated, SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import { type ForkOrigin, type InboxItem, Outcome } from '#gen/portico/session/v1/session_pb.js'
import { fromRetry, fromSetError } from '../records/error.ts'
import { fromFinish } from '../records/finish.ts'
import { fromFork } from '../records/fork.ts'
import { fromEnqueuedItem } from '../records/inbox-item.ts'
import { fromSessionLocation } from '../records/location.ts'
import { fromModelRef } from '../records/model.ts'
import { fromPermissionReply, fromPermissionRequest } from '../records/permission-request.ts'
import { fromDelivery, fromSynthetic } from '../records/prompt.ts'
import { fromRuleset } from '../records/ruleset.ts'
import { fromToolContents } from '../records/tool-content.ts'
import { fromCost, fromTokenUsage } from '../records/usage.ts'
import { fromPartEnded, fromPartExtended, fromPartStarted } from './parts.ts'
import type { EventContent, EventJson } from './schemas.ts'

type CompactionCase = `compaction${'Started' | 'Extended' | 'Ended' | 'Failed'}`
type CompactionEvent = Extract<SessionEvent['event'], { case: CompactionCase }>

/** An event about the summary of a conversation. */
function fromCompactionEvent(event: CompactionEvent): EventContent {
  const { messageId: messageID } = event.value
  switch (event.case) {
    case 'compactionStarted':
      return ['session.compaction.started', { ...begun(event.value), recent: event.value.recent }]
    case 'compactionExtended':
      return ['session.compaction.delta', { messageID, text: event.value.delta }]
    case 'compactionEnded': {
      const { text, recent } = event.value
      return ['session.compaction.ended', { ...begun(event.value), text, recent }]
    }
    case 'compactionFailed':
      return ['session.compaction.failed', { ...begun(event.value), error: fromSetError(event.value.error) }]
  }
}

/** The message of a manual one has the id of its inbox item. */
function begun({ messageId: messageID, manual }: { readonly messageId: string; readonly manual: boolean }) {
  return { messageID, reason: manual ? 'manual' : 'auto', inputID: manual ? messageID : undefined } as const
}

/** Version of the event shapes, as durable events carry it. */
const EVENT_VERSION = 1

function fromCreated({ session: made }: SessionCreated) {
  if (made === undefined) throw new Error('An event has no content')
  const session = made
  return {
    projectID: session.projectId,
    location: { directory: session.directory },
    subpath: session.subpath,
    parentID: session.parentId,
    slug: session.sessionId,
    title: session.title,
    agent: session.agent,
    model: fromModelRef(session.model),
    metadata: session.metadata,
    permissions: session.permissions === undefined ? undefined : fromRuleset(session.permissions.rules),
    version: String(EVENT_VERSION),
  }
}

/**
 * Events that are derived from durable ones and only sent to listeners: whether a session is busy, and what it has
 * used.
 */
function liveOf({ event }: SessionEvent): EventContent[] {
  switch (event.case) {
    case 'executionStarted':
      return [['session.status', { status: { type: 'busy' } }]]
    case 'executionEnded':
      return [
        ['session.status', { status: { type: 'idle' } }],
        ['session.idle', {}],
      ]
    case 'retryScheduled': {
      const { retry } = event.value
      if (retry === undefined) return []
      const { attempt, at, error } = fromRetry(retry)
      return [['session.status', { status: { type: 'retry', attempt, message: error.message, next: at } }]]
    }
    case 'stepEnded':
    case 'stepFailed':
    case 'usageRecorded': {
      const { sessionUsage } = event.value
      if (sessionUsage === undefined) return []
      const { costNanos, tokens } = sessionUsage
      return [['session.usage.updated', { cost: fromCost(costNanos), tokens: fromTokenUsage(tokens) }]]
    }
    default:
      return []
  }
}

/** Undefined for an event of a kind that only a newer session service knows. */
export function fromEvent(event: SessionEvent): EventJson | undefined {
  const described = describe(event)
  return described && eventJson(event, event.eventId, event.seq, described)
}

/** What follows from an event for those who listen, beside what it says itself; each gets an id of its own. */
export function fromEventLive(event: SessionEvent, newId: () => string): EventJson[] {
  return liveOf(event).map((described) => eventJson(event, newId(), undefined, described))
}

function eventJson(event: SessionEvent, id: string, seq: number | undefined, [type, data]: EventContent): EventJson {
  const { sessionId } = event
  return {
    id,
    created: event.createTime,
    type,
    durable: seq === undefined ? undefined : { aggregateID: sessionId, seq, version: EVENT_VERSION },
    location: { directory: event.directory },
    data: { sessionID: sessionId, ...data },
  } as EventJson
}

function describe({ event, createTime }: SessionEvent): EventContent | undefined {
  switch (event.case) {
    case 'sessionCreated':
      return ['session.created', fromCreated(event.value)]
    case 'sessionForked':
      return ['session.forked', fromForked(set(event.value.fork))]
    case 'sessionDeleted':
      return ['session.deleted', {}]
    case 'agentSelected':
      return ['session.agent.selected', { agent: event.value.agent, previous: event.value.previous }]
    case 'modelSelected': {
      const { model, previous } = event.value
      return ['session.model.selected', { model: fromModelRef(set(model)), previous: fromModelRef(previous) }]
    }
    case 'inboxEnqueued':
      return fromEnqueued(set(event.value.item))
    case 'inboxDelivered':
      return ['session.inbox.delivered', { inboxID: event.value.messageId }]
    case 'inboxCancelled':
      return ['session.inbox.cancelled', { inboxID: event.value.messageId }]
    case 'inboxDeliveryChanged': {
      const { messageId, delivery } = event.value
      return ['session.inbox.delivery.changed', { inboxID: messageId, delivery: fromDelivery(delivery) }]
    }
    case 'syntheticAdded':
      return ['session.synthetic', fromSynthetic(set(event.value.synthetic))]
    case 'sessionMoved':
      return ['session.moved', fromSessionLocation(event.value.location)]
    case 'executionStarted':
      return ['session.execution.started', {}]
    case 'executionEnded':
      return fromExecutionEnded(event.value)
    case 'stepStarted': {
      const { messageId, agent, model } = event.value
      return [
        'session.step.started',
        { assistantMessageID: messageId, agent, model: fromModelRef(set(model)), started: createTime },
      ]
    }
    case 'stepStreamed':
      return ['session.step.streamed', { assistantMessageID: event.value.messageId }]
    case 'stepEnded': {
      const { messageId, rawFinish, costNanos, tokens } = event.value
      const finish = fromFinish(event.value.finish)
      const used = { cost: fromCost(costNanos), tokens: fromTokenUsage(tokens) }
      return ['session.step.ended', { assistantMessageID: messageId, finish, rawFinish, ...used }]
    }
    case 'stepFailed': {
      const { messageId, error, finish, usage } = event.value
      const used = usage && { cost: fromCost(usage.costNanos), tokens: fromTokenUsage(usage.tokens) }
      const failed = { error: fromSetError(error), finish: fromFinish(finish), ...used }
      return ['session.step.failed', { assistantMessageID: messageId, ...failed }]
    }
    case 'retryScheduled': {
      const { messageId, retry } = event.value
      return ['session.retry.scheduled', { assistantMessageID: messageId, ...fromRetry(set(retry)) }]
    }
    case 'stepRetried':
      return ['session.status', { status: { type: 'busy' } }]
    case 'partStarted':
      return fromPartStarted(set(event.value.part))
    case 'partExtended':
      return fromPartExtended(set(event.value.part), event.value.delta)
    case 'partEnded':
      return fromPartEnded(set(event.value.part), event.value)
    case 'toolCalled':
      return ['session.tool.called', { ...call(event.value), input: event.value.input ?? {}, executed: false }]
    case 'toolProgressed':
      return ['session.tool.progress', { ...call(event.value), metadata: event.value.metadata ?? {} }]
    case 'toolSucceeded': {
      const { content, metadata } = event.value
      const returned = { content: fromToolContents(content) ?? [], metadata, executed: false } as const
      return ['session.tool.success', { ...call(event.value), ...returned }]
    }
    case 'toolFailed': {
      const { error, content, metadata } = event.value
      const returned = { error: fromSetError(error), content: fromToolContents(content), metadata } as const
      return ['session.tool.failed', { ...call(event.value), ...returned, executed: false }]
    }
    case 'sessionRenamed':
      return ['session.renamed', { title: event.value.title }]
    case 'sessionMetadataUpdated':
      return ['session.metadata.updated', { metadata: event.value.metadata ?? {} }]
    case 'sessionPermissionsUpdated':
      return ['session.permissions', { permissions: fromRuleset(event.value.permissions?.rules ?? []) }]
    case 'sessionViewed':
      return ['session.viewed', { idle: event.value.idleTime }]
    case 'usageRecorded': {
      const { costNanos, tokens } = event.value
      const source = event.value.source === 'compaction' ? 'compaction' : 'title'
      return ['session.usage.recorded', { source, cost: fromCost(costNanos), tokens: fromTokenUsage(tokens) }]
    }
    case 'compactionStarted':
    case 'compactionExtended':
    case 'compactionEnded':
    case 'compactionFailed':
      return fromCompactionEvent(event)
    case 'permissionAsked':
      return ['permission.asked', fromPermissionRequest(event.value.request)]
    case 'permissionReplied': {
      const { requestId: requestID, reply } = event.value
      return ['permission.replied', { requestID, reply: fromPermissionReply(reply) }]
    }
    case undefined:
      return undefined
  }
}

function fromExecutionEnded({ outcome, error, reason }: ExecutionEnded): EventContent {
  if (outcome === Outcome.FAILED) return ['session.execution.failed', { error: fromSetError(error) }]
  if (outcome === Outcome.INTERRUPTED) return ['session.execution.interrupted', { reason }]
  return ['session.execution.succeeded', {}]
}

function fromEnqueued(item: InboxItem): EventContent | undefined {
  if (item.payload.case === undefined) return undefined
  return ['session.inbox.enqueued', { inboxID: item.messageId, item: fromEnqueuedItem(item) }]
}

function fromForked(origin: ForkOrigin) {
  const { sessionID: parentID, boundary } = fromFork(origin)
  return { parentID, boundary }
}

function call({ messageId, callId }: { readonly messageId: string; readonly callId: string }) {
  return { assistantMessageID: messageId, id: callId }
}

function set<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('An event has no content')
  return value
}
