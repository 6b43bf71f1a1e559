import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ToolContentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantMessageSchema,
  type AssistantPartSchema,
  AssistantTool_State,
  type MessageSchema,
  type StructuredErrorSchema,
} from '#gen/portico/session/v1/message_pb.js'
import type {
  AgentAttachmentSchema,
  FileAttachmentSchema,
  PromptSchema,
  SyntheticTextSchema,
} from '#gen/portico/session/v1/session_pb.js'
import type {
  AgentAttachment,
  AssistantMessage,
  AssistantPart,
  FileAttachment,
  Message,
  Prompt,
  StructuredError,
  SyntheticText,
  ToolContent,
  ToolPart,
} from '#services/session/domain/message.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { BlobContents } from '../blob-contents.ts'
import { outcomes } from '../enums.ts'
import { locationToProto, modelToProto, tokensToProto } from '../session/session-to-proto.ts'

const states = enumTable({
  streaming: AssistantTool_State.STREAMING,
  running: AssistantTool_State.RUNNING,
  completed: AssistantTool_State.COMPLETED,
  error: AssistantTool_State.ERROR,
})

/** A message as other services see it, with the content of its files. */
export function messageToProto(message: Message, blobs: BlobContents): MessageInitShape<typeof MessageSchema> {
  return {
    messageId: message.id,
    createTime: timestampFromMs(message.timeCreated),
    kind: kindToProto(message, blobs),
  }
}

/** A prompt as other services see it, with the content of its files. */
export function promptToProto(prompt: Prompt, blobs: BlobContents): MessageInitShape<typeof PromptSchema> {
  return {
    text: prompt.text,
    files: prompt.files.map((file) => fileToProto(file, blobs)),
    agents: prompt.agents.map(agentToProto),
    ...(prompt.metadata === undefined ? {} : { metadata: prompt.metadata }),
  }
}

/** A synthetic text as other services see it. */
export function syntheticToProto({
  text,
  description,
  metadata,
}: SyntheticText): MessageInitShape<typeof SyntheticTextSchema> {
  return {
    text,
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  }
}

/** A failure as other services see it. */
export function errorToProto({
  type,
  message,
  status = 0,
}: StructuredError): MessageInitShape<typeof StructuredErrorSchema> {
  return { type, message, status }
}

/** What a tool returned, as other services see it. */
export function toolContentToProto(
  content: ToolContent,
  blobs: BlobContents,
): MessageInitShape<typeof ToolContentSchema> {
  if (content.type === 'text') return { content: { case: 'text', value: content.text } }
  const { blob, mime, name = '' } = content
  return { content: { case: 'file', value: { data: blobs.get(blob.hash) ?? new Uint8Array(), mime, name } } }
}

type Kind = NonNullable<MessageInitShape<typeof MessageSchema>['kind']>

function kindToProto(message: Message, blobs: BlobContents): Kind {
  switch (message.type) {
    case 'user':
      return { case: 'user', value: promptToProto(message.prompt, blobs) }
    case 'assistant':
      return { case: 'assistant', value: assistantToProto(message, blobs) }
    case 'agent-switched':
      return { case: 'agentSwitched', value: { agent: message.agent, previous: message.previous ?? '' } }
    case 'model-switched': {
      const previous = message.previous === undefined ? {} : { previous: modelToProto(message.previous) }
      return { case: 'modelSwitched', value: { model: modelToProto(message.model), ...previous } }
    }
    case 'synthetic':
      return { case: 'synthetic', value: syntheticToProto(message.synthetic) }
    case 'location-switched': {
      const { location, previous } = message
      const value = { location: locationToProto(location), previous: locationToProto(previous) }
      return { case: 'locationSwitched', value }
    }
    case 'idle': {
      const error = message.error === undefined ? {} : { error: errorToProto(message.error) }
      return { case: 'idle', value: { outcome: outcomes.toProto(message.outcome), ...error } }
    }
  }
}

function assistantToProto(
  message: AssistantMessage,
  blobs: BlobContents,
): MessageInitShape<typeof AssistantMessageSchema> {
  const { costNanos, tokens, error, retry, timeStreamed, timeCompleted } = message
  return {
    agent: message.agent,
    model: modelToProto(message.model),
    parts: message.parts.map((part) => ({ part: partToProto(part, blobs) })),
    finish: message.finish ?? '',
    rawFinish: message.rawFinish ?? '',
    ...(costNanos === undefined ? {} : { costNanos }),
    ...(tokens === undefined ? {} : { tokens: tokensToProto(tokens) }),
    ...(error === undefined ? {} : { error: errorToProto(error) }),
    ...(timeStreamed === undefined ? {} : { streamTime: timestampFromMs(timeStreamed) }),
    ...(timeCompleted === undefined ? {} : { completeTime: timestampFromMs(timeCompleted) }),
    ...(retry === undefined
      ? {}
      : { retry: { attempt: retry.attempt, startTime: timestampFromMs(retry.at), error: errorToProto(retry.error) } }),
  }
}

type Part = NonNullable<MessageInitShape<typeof AssistantPartSchema>['part']>

function partToProto(part: AssistantPart, blobs: BlobContents): Part {
  switch (part.type) {
    case 'text':
      return { case: 'text', value: { text: part.text } }
    case 'reasoning': {
      const { text, state, timeCreated, timeCompleted } = part
      const value = {
        text,
        createTime: timestampFromMs(timeCreated),
        ...(state === undefined ? {} : { state }),
        ...(timeCompleted === undefined ? {} : { completeTime: timestampFromMs(timeCompleted) }),
      }
      return { case: 'reasoning', value }
    }
    case 'tool':
      return toolToProto(part, blobs)
  }
}

function toolToProto(part: ToolPart, blobs: BlobContents): Part {
  const { metadata, error, timeRan, timeCompleted } = part
  const value = {
    callId: part.callId,
    name: part.name,
    state: states.toProto(part.state),
    partialInput: part.state === 'streaming' ? part.rawInput : '',
    input: part.input,
    content: part.content.map((content) => toolContentToProto(content, blobs)),
    createTime: timestampFromMs(part.timeCreated),
    ...(metadata === undefined ? {} : { metadata }),
    ...(error === undefined ? {} : { error: errorToProto(error) }),
    ...(timeRan === undefined ? {} : { runTime: timestampFromMs(timeRan) }),
    ...(timeCompleted === undefined ? {} : { completeTime: timestampFromMs(timeCompleted) }),
  }
  return { case: 'tool', value }
}

function fileToProto(file: FileAttachment, blobs: BlobContents): MessageInitShape<typeof FileAttachmentSchema> {
  const { name, description, mention } = file
  return {
    data: blobs.get(file.blob.hash) ?? new Uint8Array(),
    mime: file.mime,
    uri: file.uri ?? '',
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(mention === undefined ? {} : { mention }),
  }
}

function agentToProto({ name, mention }: AgentAttachment): MessageInitShape<typeof AgentAttachmentSchema> {
  return { name, ...(mention === undefined ? {} : { mention }) }
}
