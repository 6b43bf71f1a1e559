import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type AssistantPart,
  AssistantPartSchema,
  type AssistantTool,
  type AssistantToolSchema,
} from '#gen/portico/session/v1/message_pb.js'

type Content = NonNullable<Exclude<MessageInitShape<typeof AssistantPartSchema>, AssistantPart>['part']>

/** A tool call as a test writes it. */
export type CallInit = Exclude<MessageInitShape<typeof AssistantToolSchema>, AssistantTool>

/** A part of a step, of this kind. */
export function stepPart<K extends Content['case']>(
  kind: K,
  value: Extract<Content, { readonly case: K }>['value'],
): AssistantPart {
  return create(AssistantPartSchema, { part: { case: kind, value } as Content })
}
