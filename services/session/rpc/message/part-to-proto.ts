import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type AssistantPartSchema, AssistantTool_State } from '#gen/portico/session/v1/message_pb.js'
import type { AssistantPart, ToolPart } from '#services/session/domain/message.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { BlobContents } from '../blob-contents.ts'
import { errorToProto, toolContentToProto } from './content-to-proto.ts'

/** How far a tool call is. */
export const states = enumTable({
  streaming: AssistantTool_State.STREAMING,
  running: AssistantTool_State.RUNNING,
  completed: AssistantTool_State.COMPLETED,
  error: AssistantTool_State.ERROR,
})

type Part = NonNullable<MessageInitShape<typeof AssistantPartSchema>['part']>

/** A part of a step as other services see it. */
export function partToProto(part: AssistantPart, blobs: BlobContents): Part {
  switch (part.type) {
    case 'text':
      return { case: 'text', value: { text: part.text, state: part.state } }
    case 'reasoning': {
      const { text, state, timeCreated, timeCompleted } = part
      const value = {
        text,
        ...(timeCreated === undefined ? {} : { createTime: timestampFromMs(timeCreated) }),
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
  const { metadata, error, timeRan, timeCompleted, executed, providerState, providerResultState } = part
  const value = {
    callId: part.callId,
    name: part.name,
    state: states.toProto(part.state),
    partialInput: part.state === 'streaming' ? part.rawInput : undefined,
    input: part.input,
    content: part.content.map((content) => toolContentToProto(content, blobs)),
    createTime: timestampFromMs(part.timeCreated),
    metadata,
    executed,
    providerState,
    providerResultState,
    ...(error === undefined ? {} : { error: errorToProto(error) }),
    ...(timeRan === undefined ? {} : { runTime: timestampFromMs(timeRan) }),
    ...(timeCompleted === undefined ? {} : { completeTime: timestampFromMs(timeCompleted) }),
  }
  return { case: 'tool', value }
}
