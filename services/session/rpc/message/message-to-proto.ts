import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type AssistantMessageSchema,
  Compaction_Status,
  type CompactionSchema,
  type MessageSchema,
  ShellCommand_Status,
  type ShellCommandSchema,
} from '#gen/portico/session/v1/message_pb.js'
import type { AssistantMessage, CompactionMessage, Message, ShellMessage } from '#services/session/domain/message.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { BlobContents } from '../blob-contents.ts'
import { outcomes } from '../enums.ts'
import { locationToProto, modelToProto, tokensToProto } from '../session/session-to-proto.ts'
import { errorToProto, promptToProto, syntheticToProto } from './content-to-proto.ts'
import { partToProto } from './part-to-proto.ts'

/** How far a command is. */
export const shellStatuses = enumTable({
  running: ShellCommand_Status.RUNNING,
  exited: ShellCommand_Status.EXITED,
  timeout: ShellCommand_Status.TIMEOUT,
  killed: ShellCommand_Status.KILLED,
})

/** How far a compaction is. */
export const compactionStatuses = enumTable({
  running: Compaction_Status.RUNNING,
  completed: Compaction_Status.COMPLETED,
  failed: Compaction_Status.FAILED,
})

/** A message as other services see it, with the content of its files. */
export function messageToProto(message: Message, blobs: BlobContents): MessageInitShape<typeof MessageSchema> {
  return {
    messageId: message.id,
    createTime: timestampFromMs(message.timeCreated),
    kind: kindToProto(message, blobs),
    metadata: message.metadata,
  }
}

type Kind = NonNullable<MessageInitShape<typeof MessageSchema>['kind']>

function kindToProto(message: Message, blobs: BlobContents): Kind {
  switch (message.type) {
    case 'user':
      return { case: 'user', value: promptToProto(message.prompt, blobs) }
    case 'assistant':
      return { case: 'assistant', value: assistantToProto(message, blobs) }
    case 'agent-switched':
      return { case: 'agentSwitched', value: { agent: message.agent, previous: message.previous } }
    case 'model-switched': {
      const previous = message.previous === undefined ? {} : { previous: modelToProto(message.previous) }
      return { case: 'modelSwitched', value: { model: modelToProto(message.model), ...previous } }
    }
    case 'synthetic':
      return { case: 'synthetic', value: syntheticToProto(message.synthetic) }
    case 'location-switched': {
      const { location, previous } = message
      const value = {
        location: locationToProto(location),
        previous: previous && locationToProto(previous),
      }
      return { case: 'locationSwitched', value }
    }
    case 'idle': {
      const error = message.error === undefined ? {} : { error: errorToProto(message.error) }
      return { case: 'idle', value: { outcome: outcomes.toProto(message.outcome), ...error } }
    }
    case 'system':
      return { case: 'system', value: { text: message.text, description: message.description } }
    case 'skill':
      return { case: 'skill', value: { skillId: message.skill, name: message.name, text: message.text } }
    case 'shell':
      return { case: 'shell', value: shellToProto(message) }
    case 'compaction':
      return { case: 'compaction', value: compactionToProto(message) }
  }
}

function assistantToProto(
  message: AssistantMessage,
  blobs: BlobContents,
): MessageInitShape<typeof AssistantMessageSchema> {
  const { costNanos, tokens, error, retry, timeStreamed, timeCompleted, snapshot, providerState } = message
  return {
    agent: message.agent,
    model: modelToProto(message.model),
    parts: message.parts.map((part) => ({ part: partToProto(part, blobs) })),
    finish: message.finish,
    rawFinish: message.rawFinish,
    costNanos,
    providerState,
    ...(snapshot === undefined ? {} : { snapshot: { ...snapshot, files: [...snapshot.files] } }),
    ...(tokens === undefined ? {} : { tokens: tokensToProto(tokens) }),
    ...(error === undefined ? {} : { error: errorToProto(error) }),
    ...(timeStreamed === undefined ? {} : { streamTime: timestampFromMs(timeStreamed) }),
    ...(timeCompleted === undefined ? {} : { completeTime: timestampFromMs(timeCompleted) }),
    ...(retry === undefined
      ? {}
      : { retry: { attempt: retry.attempt, startTime: timestampFromMs(retry.at), error: errorToProto(retry.error) } }),
  }
}

function shellToProto(message: ShellMessage): MessageInitShape<typeof ShellCommandSchema> {
  const { shellId, command, status, exit, output, timeCompleted } = message
  return {
    shellId,
    command,
    status: shellStatuses.toProto(status),
    exitCode: exit,
    ...(timeCompleted === undefined ? {} : { completeTime: timestampFromMs(timeCompleted) }),
    ...(output && { output: { ...output, cursor: BigInt(output.cursor), size: BigInt(output.size) } }),
  }
}

function compactionToProto(message: CompactionMessage): MessageInitShape<typeof CompactionSchema> {
  const { status, manual, summary, recent, model, providerState, providerContext, costNanos, tokens, error } = message
  return {
    status: compactionStatuses.toProto(status),
    manual,
    summary,
    recent,
    providerState,
    providerContext,
    costNanos,
    ...(model && { model: modelToProto(model) }),
    ...(tokens && { tokens: tokensToProto(tokens) }),
    ...(error && { error: errorToProto(error) }),
  }
}
