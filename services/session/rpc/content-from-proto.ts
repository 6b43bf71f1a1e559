import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { AssistantTool, AssistantPart as PartMessage } from '#gen/portico/session/v1/message_pb.js'
import type {
  FileAttachment as FileMessage,
  Mention as MentionMessage,
  Prompt as PromptMessage,
} from '#gen/portico/session/v1/session_pb.js'
import { check, MAX_TIME, parseText } from '#shared/rpc/parse.ts'
import type { AssistantPart, FileAttachment, Mention, Prompt, ToolPart } from '../domain/message.ts'
import { states } from './message-to-proto.ts'

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
  check(time >= 0 && time <= MAX_TIME, 'time', 'must be from 1970 to the end of the year 9999')
  return time
}

/** A part of an imported step. */
export function partFromProto({ part }: PartMessage): AssistantPart {
  switch (part.case) {
    case 'text':
      return { type: 'text', text: part.value.text, state: part.value.state }
    case 'reasoning': {
      const { text, state, createTime, completeTime } = part.value
      return {
        type: 'reasoning',
        text,
        state,
        timeCreated: timeFromProto(createTime),
        timeCompleted: timeFromProto(completeTime),
      }
    }
    case 'tool':
      return toTool(part.value)
    case undefined:
      check(false, 'part', 'is required')
  }
}

function toTool(call: AssistantTool): ToolPart {
  const { callId, name, partialInput: rawInput = '', input = {}, content, metadata, error, executed } = call
  const state = states.fromProto(call.state)
  const timeCreated = timeFromProto(call.createTime)
  check(state !== undefined && timeCreated !== undefined, 'state', 'is required, and so is the time')
  return {
    type: 'tool',
    callId,
    name: parseText('parts.name', name, 0, MAX_TOOL_NAME_LENGTH),
    state,
    rawInput,
    input,
    content,
    metadata,
    error,
    timeCreated,
    timeRan: timeFromProto(call.runTime),
    timeCompleted: timeFromProto(call.completeTime),
    executed,
    providerState: call.providerState,
    providerResultState: call.providerResultState,
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
