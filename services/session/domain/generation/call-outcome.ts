import { create } from '@bufbuild/protobuf'
import { type ToolContent, ToolContentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { structuredError } from '../structured-error.ts'

/** How a tool call ended. */
export interface CallOutcome {
  /** Undefined: well. */
  readonly error: StructuredError | undefined
  readonly content: ToolContent[]
  readonly metadata: JsonObject | undefined
}

export function textResult(value: string): ToolContent {
  return create(ToolContentSchema, { content: { case: 'text', value } })
}

/** A call that was not made, because its arguments make no sense. */
export function invalidInput(message: string): CallOutcome {
  return { error: structuredError('tool.input_invalid', message), content: [], metadata: undefined }
}
