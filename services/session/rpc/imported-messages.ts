import { type BlobRef, type ModelRef, type ToolFile, ToolFileSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantMessage,
  AssistantMessageSchema,
  type AssistantPart,
  AssistantTool_StateSchema,
  AssistantToolSchema,
  type Compaction,
  Compaction_StatusSchema,
  type Message,
  ShellCommand_StatusSchema,
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
import { check, checkEnum, invalid, parseText } from '#shared/rpc/parse.ts'
import { isSettled } from '../domain/message.ts'
import { fitsAsJson, MAX_MESSAGE_BYTES } from '../domain/message-size.ts'
import { MOST_COST_NANOS, MOST_TOKENS } from '../domain/session.ts'
import { checkModel, checkTime, parseMessageId } from './parse.ts'

export type KeepContent = (data: Uint8Array) => Promise<BlobRef>

const checkStepLimits = checkLimits(AssistantMessageSchema)
const checkToolLimits = checkLimits(AssistantToolSchema)
const checkFile = checkLimits(FileAttachmentSchema)
const checkToolFile = checkLimits(ToolFileSchema)
const MAX_TOOL_NAME_LENGTH = 256
/** The lists of a user's message may be as long as those of a step. */
const { most: MOST_ITEMS } = limitOf(AssistantMessageSchema.field.parts)

/**
 * Checks a message to import and keeps its content. It must be no larger than what can be read in one go; `field` names
 * it. Rejects with REQUEST_INVALID.
 */
export async function prepareImported(message: Message, field: string, keep: KeepContent): Promise<void> {
  await keepFiles(message, field, keep)
  checkMessage(message, field)
  forgetRun(message)
  if (!isSettled(message)) return
  const { kind } = message
  if (kind.case === 'assistant') {
    checkStepLimits(kind.value, `${field}.assistant`)
    for (const [i, { part }] of kind.value.parts.entries()) {
      if (part.case === 'tool') checkToolLimits(part.value, `${field}.assistant.parts.${i}.tool`)
    }
  } else if (kind.case === 'user') {
    for (const list of ['files', 'agents', 'skills'] as const) {
      const fits = kind.value[list].length <= MOST_ITEMS
      check(fits, `${field}.user.${list}`, `must have at most ${MOST_ITEMS} items`)
    }
  }
  const fits = fitsAsJson(message, MAX_MESSAGE_BYTES)
  check(fits, field, `must have at most ${MAX_MESSAGE_BYTES} bytes, not counting its files`)
}

/** Puts a reference to kept content in its place. */
async function keepFiles({ kind }: Message, field: string, keep: KeepContent): Promise<void> {
  if (kind.case === 'user') {
    for (const [i, file] of kind.value.files.entries()) {
      checkFile(file, `${field}.user.files.${i}`)
      await keepContent(file, keep)
    }
  } else if (kind.case === 'assistant') {
    for (const [i, { part }] of kind.value.parts.entries()) {
      const contents = part.case === 'tool' ? part.value.content : []
      for (const [j, { content }] of contents.entries()) {
        const at = `${field}.assistant.parts.${i}.tool.content.${j}`
        check(content.case !== undefined, at, 'must have content')
        if (content.case !== 'file') continue
        checkToolFile(content.value, at)
        if (content.value.source.case !== 'uri') await keepContent(content.value, keep)
      }
    }
  }
}

async function keepContent(file: FileAttachment | ToolFile, keep: KeepContent): Promise<void> {
  const { source } = file
  file.source = { case: 'blob', value: await keep(source.case === 'data' ? source.value : new Uint8Array()) }
}

/** Rejects with REQUEST_INVALID, which names the field as one of the message. */
function checkMessage(message: Message, field: string): void {
  try {
    parseMessageId(message.messageId)
    checkTime(message.createTime)
    checkKind(message)
  } catch (error) {
    if (!(error instanceof Rejection) || error.reason !== 'REQUEST_INVALID') throw error
    throw invalid(`${field}.${error.metadata.field}`, error.metadata.problem ?? 'is not valid')
  }
}

function checkKind({ kind }: Message): void {
  switch (kind.case) {
    case 'assistant':
      checkStep(kind.value)
      break
    case 'modelSwitched':
      if (kind.value.previous !== undefined) checkModel(kind.value.previous)
      checkSetModel(kind.value.model)
      break
    case 'locationSwitched':
      check(kind.value.location !== undefined, 'location', 'is required')
      break
    case 'idle':
      checkEnum(OutcomeSchema, kind.value.outcome, 'outcome')
      break
    case 'shell':
      checkEnum(ShellCommand_StatusSchema, kind.value.status, 'status')
      checkTime(kind.value.completeTime)
      break
    case 'compaction':
      checkCompaction(kind.value)
      break
    case undefined:
      check(false, 'kind', 'is required')
  }
}

function checkStep({ model, parts, costNanos, tokens, retry, streamTime, completeTime }: AssistantMessage): void {
  if (tokens !== undefined) checkTokens(tokens)
  parts.forEach(checkPart)
  if (retry !== undefined) checkRetry(retry)
  checkSetModel(model)
  checkCost(costNanos)
  checkTime(streamTime)
  checkTime(completeTime)
}

/** Rejects with REQUEST_INVALID unless it is a part that a step can have. */
function checkPart({ part }: AssistantPart): void {
  switch (part.case) {
    case 'reasoning':
      checkTime(part.value.createTime)
      checkTime(part.value.completeTime)
      break
    case 'tool': {
      const { name, state, createTime, runTime, completeTime } = part.value
      parseText('parts.name', name, 0, MAX_TOOL_NAME_LENGTH)
      checkEnum(AssistantTool_StateSchema, state, 'state')
      for (const time of [createTime, runTime, completeTime]) checkTime(time)
      break
    }
    case undefined:
      check(false, 'part', 'is required')
  }
}

function checkRetry({ startTime, error }: StepRetry): void {
  check(error !== undefined, 'retry', 'must have an error')
  checkTime(startTime)
}

function checkCompaction({ status, model, costNanos, tokens }: Compaction): void {
  checkEnum(Compaction_StatusSchema, status, 'status')
  if (model !== undefined) checkModel(model)
  if (tokens !== undefined) checkTokens(tokens)
  checkCost(costNanos)
}

function checkSetModel(model: ModelRef | undefined): void {
  check(model !== undefined, 'model', 'is required')
  checkModel(model)
}

/** What only the run knew that made a message does not hold in another session. */
function forgetRun({ kind }: Message): void {
  if (kind.case === 'assistant') kind.value.attempt = 1
  if (kind.case === 'idle') kind.value.goesOn = undefined
  if (kind.case === 'compaction') Object.assign(kind.value, { stepsBefore: 0, alone: false })
}

/** Rejects with REQUEST_INVALID when nothing can have cost so many nano-dollars. */
export function checkCost(nanos: bigint | undefined): void {
  const possible = nanos === undefined || (nanos >= 0n && nanos <= MOST_COST_NANOS)
  check(possible, 'cost_nanos', `must be from 0 to ${MOST_COST_NANOS / 1_000_000_000n} US dollars`)
}

/** Rejects with REQUEST_INVALID when nothing can have used so many tokens. */
export function checkTokens({ input, output, reasoning, cacheRead, cacheWrite }: TokenUsage): void {
  const possible = [input, output, reasoning, cacheRead, cacheWrite].every(
    (count) => Number.isInteger(count) && count >= 0 && count <= MOST_TOKENS,
  )
  check(possible, 'tokens', `must be from 0 to ${MOST_TOKENS} of each kind`)
}
