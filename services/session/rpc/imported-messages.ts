import { type BlobRef, type ModelRef, type ToolFile, ToolFileSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  AssistantMessageSchema,
  AssistantToolSchema,
  type Compaction,
  type Message as MessageProto,
  ShellCommand_StatusSchema,
  type AssistantMessage as StepMessage,
  type StepRetry,
} from '#gen/portico/session/v1/message_pb.js'
import {
  type FileAttachment,
  FileAttachmentSchema,
  OutcomeSchema,
  type TokenUsage,
} from '#gen/portico/session/v1/session_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits, limitOf } from '#shared/rpc/field-limits.ts'
import { check, checkEnum, invalid } from '#shared/rpc/parse.ts'
import { fitsAsJson, MAX_MESSAGE_BYTES } from '../domain/message/size.ts'
import { type Finish, isSettled, type Message } from '../domain/message.ts'
import { MOST_COST_NANOS, MOST_TOKENS } from '../domain/session.ts'
import { checkedTime, checkPart } from './content-from-proto.ts'
import { compactionStatuses } from './message-to-proto.ts'
import { checkModel, parseMessageId } from './parse.ts'

/** Keeps the content of a file. */
export type KeepContent = (data: Uint8Array) => Promise<BlobRef>

const checkStep = checkLimits(AssistantMessageSchema)
const checkTool = checkLimits(AssistantToolSchema)
const checkFile = checkLimits(FileAttachmentSchema)
const checkToolFile = checkLimits(ToolFileSchema)
/** The lists of a user's message may be as long as those of a step. */
const { most: MOST_ITEMS } = limitOf(AssistantMessageSchema.field.parts)

/**
 * The message to import, whose content is kept; undefined: it was still running in the exporting server, and is left
 * out. It must be no larger than what can be read in one go; `field` names it. Rejects with REQUEST_INVALID.
 */
export async function importedMessage(
  given: MessageProto,
  field: string,
  keep: KeepContent,
): Promise<Message | undefined> {
  await keepFiles(given, field, keep)
  const message = converted(given, field)
  if (!isSettled(message)) return undefined
  const { kind } = given
  if (kind.case === 'assistant') {
    checkStep(kind.value, `${field}.assistant`)
    for (const [i, { part }] of kind.value.parts.entries()) {
      if (part.case === 'tool') checkTool(part.value, `${field}.assistant.parts.${i}.tool`)
    }
  } else if (kind.case === 'user') {
    for (const list of ['files', 'agents', 'skills'] as const) {
      const fits = kind.value[list].length <= MOST_ITEMS
      check(fits, `${field}.user.${list}`, `must have at most ${MOST_ITEMS} items`)
    }
  }
  const fits = fitsAsJson(message, MAX_MESSAGE_BYTES)
  check(fits, field, `must have at most ${MAX_MESSAGE_BYTES} bytes, not counting its files`)
  return message
}

/** Puts a reference to kept content in its place. */
async function keepFiles({ kind }: MessageProto, field: string, keep: KeepContent): Promise<void> {
  if (kind.case === 'user') {
    for (const [i, file] of kind.value.files.entries()) {
      checkFile(file, `${field}.user.files.${i}`)
      await keepContent(file, keep)
    }
  } else if (kind.case === 'assistant') {
    for (const [i, { part }] of kind.value.parts.entries()) {
      const contents = part.case === 'tool' ? part.value.content : []
      for (const [j, { content }] of contents.entries()) {
        if (content.case !== 'file') continue
        checkToolFile(content.value, `${field}.assistant.parts.${i}.tool.content.${j}`)
        if (content.value.source.case !== 'uri') await keepContent(content.value, keep)
      }
    }
  }
}

async function keepContent(file: FileAttachment | ToolFile, keep: KeepContent): Promise<void> {
  const { source } = file
  file.source = { case: 'blob', value: await keep(source.case === 'data' ? source.value : new Uint8Array()) }
}

function converted(given: MessageProto, field: string): Message {
  try {
    return messageFromProto(given)
  } catch (error) {
    if (!(error instanceof Rejection) || error.reason !== 'REQUEST_INVALID') throw error
    throw invalid(`${field}.${error.metadata.field}`, error.metadata.problem ?? 'is not valid')
  }
}

/** An imported message, whose files name content in the blob store. Rejects with REQUEST_INVALID. */
export function messageFromProto({ messageId, createTime, metadata, kind }: MessageProto): Message {
  const head = { id: parseMessageId(messageId), timeCreated: checkedTime(createTime), metadata }
  const { id, timeCreated } = head
  switch (kind.case) {
    case 'user':
      return { id, timeCreated, type: 'user', prompt: kind.value }
    case 'synthetic':
      return { id, timeCreated, type: 'synthetic', synthetic: kind.value }
    case 'assistant':
      return { ...head, ...stepFromProto(kind.value) }
    case 'agentSwitched': {
      const { agent, previous } = kind.value
      return { ...head, type: 'agent-switched', agent, previous }
    }
    case 'modelSwitched': {
      const { model, previous } = kind.value
      if (previous !== undefined) checkModel(previous)
      return { ...head, type: 'model-switched', model: requireModel(model), previous }
    }
    case 'locationSwitched': {
      const { location, previous } = kind.value
      check(location !== undefined, 'location', 'is required')
      return { ...head, type: 'location-switched', location, previous }
    }
    case 'idle': {
      const { outcome, error } = kind.value
      checkEnum(OutcomeSchema, outcome, 'outcome')
      return { ...head, type: 'idle', outcome, error }
    }
    case 'system':
      return { ...head, type: 'system', system: kind.value }
    case 'skill':
      return { ...head, type: 'skill', skill: kind.value }
    case 'shell':
      checkEnum(ShellCommand_StatusSchema, kind.value.status, 'status')
      checkedTime(kind.value.completeTime)
      return { ...head, type: 'shell', shell: kind.value }
    case 'compaction':
      return { ...head, ...compactionFromProto(kind.value) }
    case undefined:
      check(false, 'kind', 'is required')
  }
}

type Headless<T extends Message['type']> = Omit<Extract<Message, { type: T }>, 'id' | 'timeCreated' | 'metadata'>

function stepFromProto(step: StepMessage): Headless<'assistant'> {
  const { agent, model, parts, finish, rawFinish, costNanos, tokens, error, retry, snapshot, providerState } = step
  if (tokens !== undefined) checkTokens(tokens)
  parts.forEach(checkPart)
  if (retry !== undefined) checkRetry(retry)
  return {
    type: 'assistant',
    agent,
    model: requireModel(model),
    parts,
    attempt: 1,
    finish: finish as Finish | undefined,
    rawFinish,
    costNanos: costFromProto(costNanos),
    tokens,
    error,
    retry,
    timeStreamed: checkedTime(step.streamTime),
    timeCompleted: checkedTime(step.completeTime),
    providerState,
    snapshot,
  }
}

function checkRetry({ startTime, error }: StepRetry): void {
  check(error !== undefined, 'retry', 'must have an error')
  checkedTime(startTime)
}

function compactionFromProto(compaction: Compaction): Headless<'compaction'> {
  const { manual, summary, recent, model, providerState, providerContext, costNanos, tokens, error } = compaction
  const status = compactionStatuses.fromProto(compaction.status)
  check(status !== undefined, 'status', 'is required')
  if (model !== undefined) checkModel(model)
  if (tokens !== undefined) checkTokens(tokens)
  return {
    type: 'compaction',
    status,
    manual,
    summary,
    recent,
    providerState,
    providerContext,
    model,
    costNanos: costFromProto(costNanos),
    tokens,
    error,
  }
}

function requireModel(model: StepMessage['model']): ModelRef {
  check(model !== undefined, 'model', 'is required')
  checkModel(model)
  return model
}

/** A cost in nano-dollars. Rejects with REQUEST_INVALID when nothing can have cost that. */
export function costFromProto<T extends bigint | undefined>(nanos: T): T {
  const possible = nanos === undefined || (nanos >= 0n && nanos <= MOST_COST_NANOS)
  check(possible, 'cost_nanos', `must be from 0 to ${MOST_COST_NANOS / 1_000_000_000n} US dollars`)
  return nanos
}

/** Rejects with REQUEST_INVALID when nothing can have used so many tokens. */
export function checkTokens({ input, output, reasoning, cacheRead, cacheWrite }: TokenUsage): void {
  const possible = [input, output, reasoning, cacheRead, cacheWrite].every(
    (count) => Number.isInteger(count) && count >= 0 && count <= MOST_TOKENS,
  )
  check(possible, 'tokens', `must be from 0 to ${MOST_TOKENS} of each kind`)
}
