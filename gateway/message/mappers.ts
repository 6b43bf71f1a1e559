import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import {
  type AssistantMessage,
  type AssistantPart,
  type AssistantTool,
  type Message,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import {
  type ListMessagesRequestSchema,
  ListMessagesRequest_Order as Order,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonOf } from '../kinds.ts'
import { orAbsent } from '../records/absent.ts'
import { fromError, fromRetry, fromSetError } from '../records/error.ts'
import { fromFinish } from '../records/finish.ts'
import { fromSessionLocation } from '../records/location.ts'
import { fromModelRef } from '../records/model.ts'
import { fromOutcome } from '../records/outcome.ts'
import { fromPrompt, fromSynthetic } from '../records/prompt.ts'
import { fromSetTime, fromTime } from '../records/time.ts'
import { fromToolContents } from '../records/tool-content.ts'
import { fromCost, fromTokenUsage } from '../records/usage.ts'
import type { assistantPart, listMessagesQuery, message } from './schemas.ts'

type MessageJson = JsonOf<typeof message>
type PartJson = JsonOf<typeof assistantPart>
type ToolJson = Extract<PartJson, { type: 'tool' }>

const ORDERS = { asc: Order.ASCENDING, desc: Order.DESCENDING } as const

export function toListMessages(
  sessionId: string,
  { limit, order, cursor }: z.output<typeof listMessagesQuery>,
): MessageInitShape<typeof ListMessagesRequestSchema> {
  return {
    sessionId,
    pageSize: limit === undefined ? 0 : Number(limit),
    pageToken: cursor ?? '',
    ...(order === undefined ? {} : { order: ORDERS[order] }),
  }
}

export function fromMessage(message: Message | undefined): MessageJson {
  if (message === undefined) throw new Error('The session service answered without a message')
  const id = message.messageId
  const time = { created: fromSetTime(message.createTime) }
  const { kind } = message
  switch (kind.case) {
    case 'user':
      return { id, type: 'user', time, ...fromPrompt(kind.value) }
    case 'assistant':
      return fromAssistant(id, time.created, kind.value)
    case 'agentSwitched':
      return { id, type: 'agent-switched', time, agent: kind.value.agent, previous: orAbsent(kind.value.previous) }
    case 'modelSwitched': {
      const { model, previous } = kind.value
      return { id, type: 'model-switched', time, model: fromSetModel(model), previous: fromModelRef(previous) }
    }
    case 'synthetic':
      return { id, type: 'synthetic', time, ...fromSynthetic(kind.value) }
    case 'locationSwitched': {
      const { location, previous } = kind.value
      return {
        ...{ id, type: 'location-switched', time },
        ...{ ...fromSessionLocation(location), previous: fromSessionLocation(previous) },
      }
    }
    case 'idle': {
      const outcome = fromOutcome(kind.value.outcome)
      if (outcome === undefined) throw new Error(`Message ${id} has no outcome`)
      return { id, type: 'idle', time, outcome, error: fromError(kind.value.error) }
    }
    case undefined:
      throw new Error(`Message ${id} has no kind that this version knows`)
  }
}

function fromAssistant(id: string, created: number, step: AssistantMessage): MessageJson {
  return {
    id,
    type: 'assistant',
    time: { created, streamed: fromTime(step.streamTime), completed: fromTime(step.completeTime) },
    agent: step.agent,
    model: fromSetModel(step.model),
    content: step.parts.map(fromPart),
    finish: fromFinish(step.finish),
    rawFinish: orAbsent(step.rawFinish),
    cost: step.costNanos === undefined ? undefined : fromCost(step.costNanos),
    tokens: step.tokens === undefined ? undefined : fromTokenUsage(step.tokens),
    error: fromError(step.error),
    retry: step.retry === undefined ? undefined : fromRetry(step.retry),
  }
}

function fromSetModel(model: AssistantMessage['model']) {
  if (model === undefined) throw new Error('The session service answered without a model')
  return fromModelRef(model)
}

function fromPart({ part }: AssistantPart): PartJson {
  switch (part.case) {
    case 'text':
      return { type: 'text', text: part.value.text }
    case 'reasoning': {
      const { text, state, createTime, completeTime } = part.value
      const time =
        createTime === undefined ? undefined : { created: fromTime(createTime), completed: fromTime(completeTime) }
      return { type: 'reasoning', text, state, time }
    }
    case 'tool':
      return fromTool(part.value)
    case undefined:
      throw new Error('A message has a part of a kind that this version does not know')
  }
}

function fromTool(call: AssistantTool): ToolJson {
  return {
    type: 'tool',
    id: call.callId,
    name: call.name,
    state: fromToolState(call),
    time: {
      created: fromSetTime(call.createTime),
      ran: fromTime(call.runTime),
      completed: fromTime(call.completeTime),
    },
  }
}

function fromToolState(call: AssistantTool): ToolJson['state'] {
  const { state, input = {}, metadata } = call
  const content = fromToolContents(call.content)
  switch (state) {
    case State.UNSPECIFIED:
    case State.STREAMING:
      return { status: 'streaming', input: call.partialInput }
    case State.RUNNING:
      return { status: 'running', input, metadata: metadata ?? {} }
    case State.COMPLETED:
      return { status: 'completed', input, content: content ?? [], metadata }
    case State.ERROR:
      return { status: 'error', input, error: fromSetError(call.error), content, metadata }
  }
}
