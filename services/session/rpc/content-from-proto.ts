import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { type AssistantPart, AssistantTool_StateSchema } from '#gen/portico/session/v1/message_pb.js'
import type {
  FileAttachment as FileMessage,
  Mention as MentionMessage,
  Prompt as PromptMessage,
} from '#gen/portico/session/v1/session_pb.js'
import { check, checkEnum, MAX_TIME, parseText } from '#shared/rpc/parse.ts'
import type { FileAttachment, Mention, Prompt } from '../domain/message.ts'

const MAX_TOOL_NAME_LENGTH = 256

/** An imported prompt. */
export function promptFromProto({ text, files, agents, skills, metadata }: PromptMessage): Prompt {
  const known = skills.map(({ skillId: id, name, text, mention }) => ({
    id,
    name,
    text,
    mention: toMention(mention),
  }))
  return {
    text,
    files: files.map(toFile),
    metadata,
    agents: agents.map(({ name, mention }) => ({ name, mention: toMention(mention) })),
    ...(known.length === 0 ? {} : { skills: known }),
  }
}

/** Milliseconds since the epoch. */
export function timeFromProto(at: Timestamp | undefined): number | undefined {
  if (at === undefined) return undefined
  const time = timestampMs(at)
  checkTime(time)
  return time
}

/** Rejects with REQUEST_INVALID for a time that no message can have. */
export function checkTime(time: number | undefined): void {
  const possible = time === undefined || (time >= 0 && time <= MAX_TIME)
  check(possible, 'time', 'must be from 1970 to the end of the year 9999')
}

/** Rejects with REQUEST_INVALID unless it is a part that a step can have. */
export function checkPart({ part }: AssistantPart): void {
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

function toFile(file: FileMessage): FileAttachment {
  const { mime, uri, name, description, mention } = file
  const { hash = '', size = 0 } = file.source.case === 'blob' ? file.source.value : {}
  return { blob: { hash, size }, mime, uri, name, description, mention: toMention(mention) }
}

function toMention(mention: MentionMessage | undefined): Mention | undefined {
  return mention && { start: mention.start, end: mention.end, text: mention.text }
}
