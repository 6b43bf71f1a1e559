import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { BlobRef, ModelRef, ToolContent, ToolFile } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantMessage,
  type AssistantPart,
  type AssistantTool,
  type Compaction,
  Compaction_Status,
  type Message,
  MessageSchema,
  ShellCommand_Status,
} from '#gen/portico/session/v1/message_pb.js'
import type { FileAttachment } from '#gen/portico/session/v1/session_pb.js'

/** Why a provider ended its answer. */
export type Finish = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'unknown'

export type Kind = NonNullable<Message['kind']['case']>

export type MessageOf<K extends Kind> = Message & { kind: Extract<Message['kind'], { readonly case: K }> }

export type ContentOf<K extends Kind> = MessageOf<K>['kind']['value']

type KindInit = NonNullable<Exclude<MessageInitShape<typeof MessageSchema>, Message>['kind']>

export function messageOf<K extends Kind>(
  head: Pick<Message, 'messageId' | 'createTime'>,
  kind: K,
  content: Extract<KindInit, { readonly case: K }>['value'],
): MessageOf<K> {
  return create(MessageSchema, { ...head, kind: { case: kind, value: content } as KindInit }) as MessageOf<K>
}

export function isOf<K extends Kind>(message: Message, kind: K): message is MessageOf<K> {
  return message.kind.case === kind
}

/** A message that says some things differently. */
export function withChanges<K extends Kind>(message: MessageOf<K>, changes: Partial<ContentOf<K>>): MessageOf<K> {
  const { kind }: Message = message
  return { ...message, kind: { ...kind, value: { ...kind.value, ...changes } } } as MessageOf<K>
}

/** Whether a message is input for the model, by which a step is due. */
export function isInput(message: Message): message is MessageOf<'user' | 'synthetic'> {
  return isOf(message, 'user') || isOf(message, 'synthetic')
}

/** Whether a message will not change any more. */
export function isSettled({ kind }: Message): boolean {
  if (kind.case === 'assistant') return kind.value.completeTime !== undefined
  if (kind.case === 'shell') return kind.value.status !== ShellCommand_Status.RUNNING
  return kind.case !== 'compaction' || kind.value.status !== Compaction_Status.RUNNING
}

/** Whether a message stands for all that comes before it, so that a model is shown nothing of that. */
export function isSummary(message: Message): message is MessageOf<'compaction'> {
  return isOf(message, 'compaction') && summarizes(message.kind.value)
}

/**
 * Whether a compaction replaces everything before it. One that only its own provider can read does not, since other
 * providers could not continue from it.
 */
function summarizes({ status, summary = '', providerContext }: Compaction): boolean {
  return status === Compaction_Status.COMPLETED && (providerContext === undefined || summary.trim() !== '')
}

/** The model of a step; each has one. */
export function modelOf({ model }: AssistantMessage): ModelRef {
  if (model === undefined) throw new Error('A step has no model')
  return model
}

export function callsOf(parts: readonly AssistantPart[]): AssistantTool[] {
  return parts.flatMap(({ part }) => (part.case === 'tool' ? [part.value] : []))
}

export function withContent(part: AssistantPart, content: AssistantPart['part']): AssistantPart {
  return { ...part, part: content }
}

export function blobsOf({ kind }: Message): readonly BlobRef[] {
  if (kind.case === 'user') return kind.value.files.flatMap(blobIn)
  if (kind.case !== 'assistant') return []
  return callsOf(kind.value.parts).flatMap(({ content }) => blobsIn(content))
}

/** The blobs that the result of a tool refers to. */
export function blobsIn(contents: readonly ToolContent[]): BlobRef[] {
  return contents.flatMap(({ content }) => (content.case === 'file' ? blobIn(content.value) : []))
}

/** The blob that a file refers to, if it does. */
export function blobIn({ source }: FileAttachment | ToolFile): BlobRef[] {
  return source.case === 'blob' ? [source.value] : []
}

/** A message and its place in the conversation. */
export interface StoredMessage {
  readonly seq: number
  readonly message: Message
}
