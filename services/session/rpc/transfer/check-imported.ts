import { ToolFileSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  AssistantMessageSchema,
  AssistantToolSchema,
  type Message as MessageProto,
} from '#gen/portico/session/v1/message_pb.js'
import { FileAttachmentSchema } from '#gen/portico/session/v1/session_pb.js'
import { fitsAsJson, MAX_MESSAGE_BYTES } from '#services/session/domain/message/size.ts'
import { type BlobRef, isSettled, type Message } from '#services/session/domain/message.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits, limitOf } from '#shared/rpc/field-limits.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { messageFromProto } from './message-from-proto.ts'

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

/** Puts the hash of kept content in its place. */
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
        if (content.value.uri === undefined) await keepContent(content.value, keep)
      }
    }
  }
}

async function keepContent(
  file: { data: Uint8Array; contentHash?: string; contentSize: bigint },
  keep: KeepContent,
): Promise<void> {
  const { hash, size } = await keep(file.data)
  file.contentHash = hash
  file.contentSize = BigInt(size)
}

function converted(given: MessageProto, field: string): Message {
  try {
    return messageFromProto(given)
  } catch (error) {
    if (!(error instanceof Rejection) || error.reason !== 'REQUEST_INVALID') throw error
    throw invalid(`${field}.${error.metadata.field}`, error.metadata.problem ?? 'is not valid')
  }
}
