import type { ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantMessage,
  type AssistantPart,
  type AssistantTool,
  AssistantTool_State,
  type Message,
  type StepRetry,
  type StructuredError,
} from '#gen/portico/session/v1/message_pb.js'
import { dollars, milliseconds, modelRefJson, orAbsent, tokenUsage } from './common.ts'
import { promptJson } from './prompt.ts'
import { outcomeName } from './session.ts'

/** `Session.Message.Info` (`contract/instance-facts.md` 1.6). */
export function messageInfo(message: Message): Record<string, unknown> {
  const id = message.messageId
  const time = { created: milliseconds(message.createTime) }
  const { kind } = message
  switch (kind.case) {
    case 'user':
      return { id, type: 'user', time, ...promptJson(kind.value) }
    case 'assistant':
      return assistant(id, time.created, kind.value)
    case 'agentSwitched':
      return { id, type: 'agent-switched', time, agent: kind.value.agent, previous: orAbsent(kind.value.previous) }
    case 'modelSwitched': {
      const { model, previous } = kind.value
      return { id, type: 'model-switched', time, model: modelRefJson(model), previous: modelRefJson(previous) }
    }
    case 'idle':
      return { id, type: 'idle', time, outcome: outcomeName(kind.value.outcome), error: errorJson(kind.value.error) }
    case undefined:
      throw new Error(`Message ${id} has no kind that this version knows`)
  }
}

function assistant(id: string, created: number | undefined, step: AssistantMessage): Record<string, unknown> {
  return {
    id,
    type: 'assistant',
    time: { created, streamed: milliseconds(step.streamTime), completed: milliseconds(step.completeTime) },
    agent: step.agent,
    model: modelRefJson(step.model),
    content: step.parts.map(part),
    finish: orAbsent(step.finish),
    rawFinish: orAbsent(step.rawFinish),
    cost: step.costNanos === undefined ? undefined : dollars(step.costNanos),
    tokens: step.tokens === undefined ? undefined : tokenUsage(step.tokens),
    error: errorJson(step.error),
    retry: step.retry === undefined ? undefined : retryJson(step.retry),
  }
}

function part({ part }: AssistantPart): Record<string, unknown> {
  switch (part.case) {
    case 'text':
      return { type: 'text', text: part.value.text }
    case 'reasoning': {
      const { text, state, createTime, completeTime } = part.value
      const time = { created: milliseconds(createTime), completed: milliseconds(completeTime) }
      return { type: 'reasoning', text, state, time: createTime === undefined ? undefined : time }
    }
    case 'tool':
      return tool(part.value)
    case undefined:
      throw new Error('A message has a part of a kind that this version does not know')
  }
}

function tool(call: AssistantTool): Record<string, unknown> {
  return {
    type: 'tool',
    id: call.callId,
    name: call.name,
    state: toolState(call),
    time: {
      created: milliseconds(call.createTime),
      ran: milliseconds(call.runTime),
      completed: milliseconds(call.completeTime),
    },
  }
}

function toolState(call: AssistantTool): Record<string, unknown> {
  const input = call.input ?? {}
  switch (call.state) {
    case AssistantTool_State.UNSPECIFIED:
    case AssistantTool_State.STREAMING:
      return { status: 'streaming', input: call.partialInput }
    case AssistantTool_State.RUNNING:
      return { status: 'running', input, metadata: call.metadata ?? {} }
    case AssistantTool_State.COMPLETED:
      return { status: 'completed', input, content: call.content.map(toolContent), metadata: call.metadata }
    case AssistantTool_State.ERROR:
      return {
        status: 'error',
        input,
        error: errorJson(call.error),
        content: toolContents(call.content),
        metadata: call.metadata,
      }
  }
}

/** What a tool answered; undefined when it answered nothing. */
export function toolContents(contents: readonly ToolContent[]) {
  return contents.length === 0 ? undefined : contents.map(toolContent)
}

function toolContent({ content }: ToolContent) {
  if (content.case !== 'file') return { type: 'text', text: content.value ?? '' }
  const { data, mime, name } = content.value
  const base64 = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  return { type: 'file', uri: `data:${mime};base64,${base64}`, mime, name: orAbsent(name) }
}

/** `StructuredError`, or undefined when nothing went wrong. */
export function errorJson(error: StructuredError | undefined) {
  if (error === undefined) return undefined
  return { type: error.type, message: error.message, status: error.status === 0 ? undefined : error.status }
}

/** The retry that a step waits for. */
export function retryJson(retry: StepRetry | undefined) {
  return { attempt: retry?.attempt, at: milliseconds(retry?.startTime), error: errorJson(retry?.error) }
}
