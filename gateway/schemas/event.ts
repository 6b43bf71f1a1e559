import { type PartRef, PartRef_Kind, type SessionCreated, type SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { dollars, milliseconds, modelRefJson, orAbsent, rulesetJson, tokenUsage } from './common.ts'
import { errorJson, retryJson, toolContents } from './message.ts'
import { permissionReplyName, permissionRequest } from './permission.ts'
import { deliveryName, promptJson } from './prompt.ts'

type Data = Record<string, unknown>

/** Version of the event shapes, as durable events tell it. */
const EVENT_VERSION = 1

/**
 * An event as `GET /api/event` shows it (`contract/instance-facts.md` 3.16); undefined for one of a kind that only a
 * newer session service knows.
 */
export function eventJson(event: SessionEvent): Data | undefined {
  const described = describe(event)
  if (described === undefined) return undefined
  const [type, data] = described
  const { sessionId, seq } = event
  return {
    id: event.eventId,
    created: milliseconds(event.createTime),
    type,
    durable: seq === 0n ? undefined : { aggregateID: sessionId, seq: Number(seq), version: EVENT_VERSION },
    location: { directory: event.directory },
    data: { sessionID: sessionId, ...data },
  }
}

/** Type of an event, and its data beside `sessionID`. */
function describe({ event, createTime }: SessionEvent): readonly [type: string, data: Data] | undefined {
  switch (event.case) {
    case 'sessionCreated':
      return ['session.created', created(event.value)]
    case 'agentSelected':
      return ['session.agent.selected', { agent: event.value.agent, previous: orAbsent(event.value.previous) }]
    case 'modelSelected': {
      const { model, previous } = event.value
      return ['session.model.selected', { model: modelRefJson(model), previous: modelRefJson(previous) }]
    }
    case 'inboxEnqueued': {
      const { item } = event.value
      if (item === undefined) throw new Error('An inbox event has no item')
      const { messageId: inboxID, prompt, delivery } = item
      const shown = { type: 'user', payload: promptJson(prompt), delivery: deliveryName(delivery) }
      return ['session.inbox.enqueued', { inboxID, item: shown }]
    }
    case 'inboxDelivered':
      return ['session.inbox.delivered', { inboxID: event.value.messageId }]
    case 'executionStarted':
      return ['session.execution.started', {}]
    case 'executionEnded': {
      const { outcome, error, reason } = event.value
      if (outcome === Outcome.FAILED) return ['session.execution.failed', { error: errorJson(error) }]
      if (outcome === Outcome.INTERRUPTED) return ['session.execution.interrupted', { reason: orAbsent(reason) }]
      return ['session.execution.succeeded', {}]
    }
    case 'stepStarted': {
      const { messageId, agent, model } = event.value
      const started = milliseconds(createTime)
      return ['session.step.started', { assistantMessageID: messageId, agent, model: modelRefJson(model), started }]
    }
    case 'stepStreamed':
      return ['session.step.streamed', { assistantMessageID: event.value.messageId }]
    case 'stepEnded': {
      const { messageId, finish, rawFinish, costNanos, tokens } = event.value
      const used = { cost: dollars(costNanos), tokens: tokenUsage(tokens) }
      return ['session.step.ended', { assistantMessageID: messageId, finish, rawFinish: orAbsent(rawFinish), ...used }]
    }
    case 'stepFailed':
      return ['session.step.failed', { assistantMessageID: event.value.messageId, error: errorJson(event.value.error) }]
    case 'retryScheduled':
      return ['session.retry.scheduled', { assistantMessageID: event.value.messageId, ...retryJson(event.value.retry) }]
    case 'partStarted': {
      const { name, ref } = part(event.value.part)
      return [`${name}.started`, { ...ref, name: orAbsent(event.value.part?.toolName ?? '') }]
    }
    case 'partExtended': {
      const { name, ref } = part(event.value.part)
      return [`${name}.delta`, { ...ref, delta: event.value.delta }]
    }
    case 'partEnded': {
      const { name, ref } = part(event.value.part)
      return [`${name}.ended`, { ...ref, text: event.value.text }]
    }
    case 'toolCalled':
      return ['session.tool.called', { ...call(event.value), input: event.value.input ?? {}, executed: false }]
    case 'toolProgressed':
      return ['session.tool.progress', { ...call(event.value), metadata: event.value.metadata ?? {} }]
    case 'toolSucceeded': {
      const { content, metadata } = event.value
      const answer = { content: toolContents(content) ?? [], metadata, executed: false }
      return ['session.tool.success', { ...call(event.value), ...answer }]
    }
    case 'toolFailed': {
      const { error, content, metadata } = event.value
      const answer = { error: errorJson(error), content: toolContents(content), metadata, executed: false }
      return ['session.tool.failed', { ...call(event.value), ...answer }]
    }
    case 'permissionAsked':
      return ['permission.asked', { ...permissionRequest(event.value.request) }]
    case 'permissionReplied': {
      const { requestId: requestID, reply } = event.value
      return ['permission.replied', { requestID, reply: permissionReplyName(reply) }]
    }
    case undefined:
      return undefined
  }
}

function created({ session }: SessionCreated): Data {
  if (session === undefined) throw new Error('A session-created event has no session')
  return {
    projectID: session.projectId,
    location: { directory: session.directory },
    subpath: session.subpath,
    parentID: orAbsent(session.parentId),
    slug: session.sessionId,
    title: session.title,
    agent: orAbsent(session.agent),
    model: modelRefJson(session.model),
    metadata: session.metadata,
    permissions: session.permissions === undefined ? undefined : rulesetJson(session.permissions.rules),
    version: String(EVENT_VERSION),
  }
}

const PART_NAMES = {
  [PartRef_Kind.UNSPECIFIED]: 'session.text',
  [PartRef_Kind.TEXT]: 'session.text',
  [PartRef_Kind.REASONING]: 'session.reasoning',
  [PartRef_Kind.TOOL_INPUT]: 'session.tool.input',
} as const

function part(ref: PartRef | undefined): { name: string; ref: Data } {
  if (ref === undefined) throw new Error('A part event names no part')
  const { kind, messageId: assistantMessageID, ordinal, callId: id } = ref
  const tool = kind === PartRef_Kind.TOOL_INPUT
  return { name: PART_NAMES[kind], ref: tool ? { assistantMessageID, id } : { assistantMessageID, ordinal } }
}

function call({ messageId, callId }: { readonly messageId: string; readonly callId: string }): Data {
  return { assistantMessageID: messageId, id: callId }
}
