import type { ToolContent as ToolContentMessage } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantMessage as AssistantMessageMessage,
  type AssistantPart as AssistantPartMessage,
  type Message as MessageMessage,
  AssistantTool_State as State,
  type StepRetry,
  type StructuredError as StructuredErrorMessage,
} from '#gen/portico/session/v1/message_pb.js'
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  StructuredError,
  ToolContent,
  ToolPart,
  ToolState,
} from '../domain/message.ts'
import type { LoadedBlobs } from './load-blobs.ts'
import { toPrompt } from './to-prompt.ts'
import { toModelRef, toOptionalTimestamp, toOutcome, toTimestamp, toTokenUsage } from './to-session.ts'

const STATES: Readonly<Record<ToolState, State>> = {
  streaming: State.STREAMING,
  running: State.RUNNING,
  completed: State.COMPLETED,
  error: State.ERROR,
}

/** An entry of the history as a message. */
export function toMessage(message: Message, blobs: LoadedBlobs): MessageMessage {
  return {
    $typeName: 'portico.session.v1.Message',
    messageId: message.id,
    createTime: toTimestamp(message.timeCreated),
    kind: toKind(message, blobs),
  }
}

function toKind(message: Message, blobs: LoadedBlobs): MessageMessage['kind'] {
  switch (message.type) {
    case 'user':
      return { case: 'user', value: toPrompt(message.prompt, blobs) }
    case 'assistant':
      return { case: 'assistant', value: toAssistant(message, blobs) }
    case 'agent-switched': {
      const { agent, previous = '' } = message
      return { case: 'agentSwitched', value: { $typeName: 'portico.session.v1.AgentSwitched', agent, previous } }
    }
    case 'model-switched': {
      const model = toModelRef(message.model)
      const previous = message.previous && toModelRef(message.previous)
      return { case: 'modelSwitched', value: { $typeName: 'portico.session.v1.ModelSwitched', model, previous } }
    }
    case 'idle': {
      const ended = { outcome: toOutcome(message.outcome), error: message.error && toError(message.error) }
      return { case: 'idle', value: { $typeName: 'portico.session.v1.RunEnded', ...ended } }
    }
  }
}

function toAssistant(message: AssistantMessage, blobs: LoadedBlobs): AssistantMessageMessage {
  const { tokens, error, retry } = message
  return {
    $typeName: 'portico.session.v1.AssistantMessage',
    agent: message.agent,
    model: toModelRef(message.model),
    parts: message.parts.map((part) => ({
      $typeName: 'portico.session.v1.AssistantPart',
      part: toPart(part, blobs),
    })),
    finish: message.finish ?? '',
    rawFinish: message.rawFinish ?? '',
    costNanos: message.costNanos,
    tokens: tokens && toTokenUsage(tokens),
    error: error && toError(error),
    streamTime: toOptionalTimestamp(message.timeStreamed),
    completeTime: toOptionalTimestamp(message.timeCompleted),
    retry: retry && toRetry(retry),
  }
}

function toPart(part: AssistantPart, blobs: LoadedBlobs): AssistantPartMessage['part'] {
  switch (part.type) {
    case 'text':
      return { case: 'text', value: { $typeName: 'portico.session.v1.AssistantText', text: part.text } }
    case 'reasoning': {
      const { text, state, timeCreated, timeCompleted } = part
      const times = { createTime: toTimestamp(timeCreated), completeTime: toOptionalTimestamp(timeCompleted) }
      return { case: 'reasoning', value: { $typeName: 'portico.session.v1.AssistantReasoning', text, state, ...times } }
    }
    case 'tool':
      return { case: 'tool', value: toTool(part, blobs) }
  }
}

function toTool(part: ToolPart, blobs: LoadedBlobs): Extract<AssistantPartMessage['part'], { case: 'tool' }>['value'] {
  const streaming = part.state === 'streaming'
  return {
    $typeName: 'portico.session.v1.AssistantTool',
    callId: part.callId,
    name: part.name,
    state: STATES[part.state],
    partialInput: streaming ? part.rawInput : '',
    input: streaming ? undefined : part.input,
    content: toContents(part.content, blobs),
    metadata: part.metadata,
    error: part.error && toError(part.error),
    createTime: toTimestamp(part.timeCreated),
    runTime: toOptionalTimestamp(part.timeRan),
    completeTime: toOptionalTimestamp(part.timeCompleted),
  }
}

/** What a tool answered as messages. A file whose content is not loaded has none. */
export function toContents(contents: readonly ToolContent[], blobs: LoadedBlobs): ToolContentMessage[] {
  return contents.map((content) => ({
    $typeName: 'portico.catalog.v1.ToolContent',
    content:
      content.type === 'text'
        ? { case: 'text', value: content.text }
        : {
            case: 'file',
            value: {
              $typeName: 'portico.catalog.v1.ToolFile',
              data: (blobs.get(content.blob.hash) ?? new Uint8Array()) as Uint8Array<ArrayBuffer>,
              mime: content.mime,
              name: content.name ?? '',
            },
          },
  }))
}

/** What went wrong as a message. */
export function toError({ type, message, status = 0 }: StructuredError): StructuredErrorMessage {
  return { $typeName: 'portico.session.v1.StructuredError', type, message, status }
}

/** A repetition that is waited for as a message. */
export function toRetry(retry: NonNullable<AssistantMessage['retry']>): StepRetry {
  const { attempt, at, error } = retry
  return { $typeName: 'portico.session.v1.StepRetry', attempt, startTime: toTimestamp(at), error: toError(error) }
}
