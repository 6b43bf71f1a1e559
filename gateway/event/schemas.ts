import { z } from 'zod'
import { instanceError } from '../errors/schemas.ts'
import type { JsonOf } from '../kinds.ts'
import { retry, structuredError } from '../records/error.ts'
import { finish } from '../records/finish.ts'
import { forkBoundary } from '../records/fork.ts'
import { metadata } from '../records/free.ts'
import { enqueuedItem } from '../records/inbox-item.ts'
import { locationRef, sessionLocation } from '../records/location.ts'
import { modelRef } from '../records/model.ts'
import { permissionReply, permissionRequest } from '../records/permission-request.ts'
import { delivery, synthetic } from '../records/prompt.ts'
import { ruleset } from '../records/ruleset.ts'
import { time } from '../records/time.ts'
import { toolContent } from '../records/tool-content.ts'
import { cost, tokenUsage } from '../records/usage.ts'
import { freeObject } from '../shape.ts'

const durable = z
  .strictObject({ aggregateID: z.string(), seq: z.int().min(1), version: z.int() })
  .meta({ description: 'Position in the session; absent for events that are not durable' })

function sessionEvent<const T extends string, const S extends z.core.$ZodLooseShape>(type: T, data: S) {
  return z.strictObject({
    id: z.string(),
    created: time,
    type: z.literal(type),
    durable: durable.optional(),
    location: locationRef,
    data: z.strictObject({ sessionID: z.string(), ...data }),
  })
}

const mcpServer = { server: z.string() }

/** An event of a location. It is never stored, and only reports that something has changed. */
function locationEvent<const T extends string>(type: T) {
  return locationEventOf(type, {})
}

function locationEventOf<const T extends string, const S extends z.ZodRawShape>(type: T, data: S) {
  return z.strictObject({
    id: z.string(),
    created: time,
    type: z.literal(type),
    location: locationRef,
    data: z.strictObject(data),
  })
}

function serverEvent<const T extends string, D extends z.ZodType>(type: T, data: D) {
  return z.strictObject({ id: z.string(), created: time, type: z.literal(type), data })
}

const step = { assistantMessageID: z.string() }
const part = { ...step, ordinal: z.int().min(0) }
const toolInput = { ...step, id: z.string().meta({ description: 'Tool call' }) }
const toolMetadata = freeObject('Free-form data of the tool.')
const executed = z.literal(false).meta({ description: 'Whether the provider ran it' })

const status = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('idle') }),
    z.strictObject({ type: z.literal('busy') }),
    z.strictObject({ type: z.literal('retry'), attempt: z.int().min(1), message: z.string(), next: time }),
  ])
  .meta({ id: 'Session.Status' })

const compaction = {
  messageID: z.string(),
  reason: z.enum(['auto', 'manual']),
  inputID: z.string().optional().meta({ description: 'The inbox item that requested it' }),
}
const COMPACTION_EVENTS = [
  sessionEvent('session.compaction.started', { ...compaction, recent: z.string() }),
  sessionEvent('session.compaction.delta', { messageID: z.string(), text: z.string() }),
  sessionEvent('session.compaction.ended', { ...compaction, text: z.string(), recent: z.string() }),
  sessionEvent('session.compaction.failed', { ...compaction, error: structuredError }),
] as const

/** The JSON of a `data:` line of the stream of events. */
export const event = z
  .discriminatedUnion('type', [
    serverEvent('server.connected', z.strictObject({})),
    serverEvent('server.resync', z.strictObject({})),
    serverEvent('server.error', instanceError),
    sessionEvent('session.created', {
      projectID: z.string(),
      location: locationRef,
      subpath: z.string(),
      parentID: z.string().optional(),
      slug: z.string(),
      title: z.string().optional(),
      agent: z.string().optional(),
      model: modelRef.optional(),
      metadata: metadata.optional(),
      permissions: ruleset.optional(),
      version: z.string(),
    }),
    sessionEvent('session.forked', { parentID: z.string(), boundary: forkBoundary }),
    sessionEvent('session.deleted', {}),
    sessionEvent('session.agent.selected', { agent: z.string(), previous: z.string().optional() }),
    sessionEvent('session.model.selected', { model: modelRef, previous: modelRef.optional() }),
    sessionEvent('session.inbox.enqueued', {
      inboxID: z.string(),
      item: enqueuedItem,
    }),
    sessionEvent('session.inbox.delivered', { inboxID: z.string() }),
    sessionEvent('session.inbox.cancelled', { inboxID: z.string() }),
    sessionEvent('session.inbox.delivery.changed', { inboxID: z.string(), delivery }),
    sessionEvent('session.synthetic', synthetic),
    sessionEvent('session.moved', sessionLocation),
    sessionEvent('session.execution.started', {}),
    sessionEvent('session.execution.succeeded', {}),
    sessionEvent('session.execution.failed', { error: structuredError }),
    sessionEvent('session.execution.interrupted', { reason: z.string().optional() }),
    sessionEvent('session.step.started', { ...step, agent: z.string(), model: modelRef, started: time }),
    sessionEvent('session.step.streamed', step),
    sessionEvent('session.step.ended', { ...step, finish, rawFinish: z.string().optional(), cost, tokens: tokenUsage }),
    sessionEvent('session.step.failed', {
      ...step,
      error: structuredError,
      finish: finish.optional(),
      cost: cost.optional(),
      tokens: tokenUsage.optional(),
    }),
    sessionEvent('session.retry.scheduled', { ...step, ...retry.shape }),
    sessionEvent('session.text.started', part),
    sessionEvent('session.text.delta', { ...part, delta: z.string() }),
    sessionEvent('session.text.ended', { ...part, text: z.string() }),
    sessionEvent('session.reasoning.started', part),
    sessionEvent('session.reasoning.delta', { ...part, delta: z.string() }),
    sessionEvent('session.reasoning.ended', {
      ...part,
      text: z.string(),
      state: freeObject('Data that are sent back to the provider with it.').optional(),
    }),
    sessionEvent('session.tool.input.started', { ...toolInput, name: z.string() }),
    sessionEvent('session.tool.input.delta', { ...toolInput, delta: z.string() }),
    sessionEvent('session.tool.input.ended', { ...toolInput, text: z.string() }),
    sessionEvent('session.tool.called', {
      ...toolInput,
      input: freeObject('Each tool has arguments of its own.'),
      executed,
    }),
    sessionEvent('session.tool.progress', { ...toolInput, metadata: toolMetadata }),
    sessionEvent('session.tool.success', {
      ...toolInput,
      content: z.array(toolContent),
      metadata: toolMetadata.optional(),
      executed,
    }),
    sessionEvent('session.tool.failed', {
      ...toolInput,
      error: structuredError,
      content: z.array(toolContent).optional(),
      metadata: toolMetadata.optional(),
      executed,
    }),
    sessionEvent('session.status', { status }),
    sessionEvent('session.idle', {}),
    sessionEvent('session.usage.updated', { cost, tokens: tokenUsage }),
    sessionEvent('session.renamed', { title: z.string() }),
    sessionEvent('session.metadata.updated', { metadata }),
    sessionEvent('session.permissions', { permissions: ruleset }),
    sessionEvent('session.viewed', { idle: time }),
    sessionEvent('session.usage.recorded', { source: z.enum(['title', 'compaction']), cost, tokens: tokenUsage }),
    ...COMPACTION_EVENTS,
    sessionEvent('permission.asked', permissionRequest.shape),
    sessionEvent('permission.replied', { requestID: z.string(), reply: permissionReply }),
    locationEvent('agent.updated'),
    locationEvent('skill.updated'),
    locationEventOf('mcp.updated', mcpServer),
    locationEventOf('mcp.tools.changed', mcpServer),
    locationEvent('location.shutdown'),
    locationEvent('plugin.updated'),
  ])
  .meta({ id: 'Event' })

/** The JSON of a `data:` line of a session's log. */
export const logEntry = z
  .union([
    event,
    z
      .strictObject({ type: z.literal('log.synced'), aggregateID: z.string(), seq: z.int().min(1).optional() })
      .meta({ description: 'All events written before have been sent; `seq` is the last one' }),
  ])
  .meta({ id: 'SessionLogEntry' })

/** An event as clients get it. */
export type EventJson = JsonOf<typeof event>
type Shape<E> = E extends { readonly type: infer T; readonly data: infer D extends { readonly sessionID: string } }
  ? readonly [type: T, data: Omit<D, 'sessionID'>]
  : never

/** Type of an event, and its data beside `sessionID`. */
export type EventContent = Shape<EventJson>
