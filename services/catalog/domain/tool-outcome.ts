import { create } from '@bufbuild/protobuf'
import { type ToolContent, ToolContentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type RunToolResponse,
  ToolCompletedSchema,
  ToolFailedSchema,
} from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { JsonObject } from '#shared/json.ts'

/** How a tool call ended; the message of a failure is for the model. */
export type ToolOutcome = Extract<RunToolResponse['event'], { case: 'completed' | 'failed' }>

export function completed(content: ToolContent[], metadata: JsonObject = {}): ToolOutcome {
  return { case: 'completed', value: create(ToolCompletedSchema, { content, metadata }) }
}

export function failed(
  type: string,
  message: string,
  content: ToolContent[] = [],
  metadata: JsonObject = {},
): ToolOutcome {
  return { case: 'failed', value: create(ToolFailedSchema, { type, message, content, metadata }) }
}

export function textContent(text: string): ToolContent {
  return create(ToolContentSchema, { content: { case: 'text', value: text } })
}

export function fileContent(data: Uint8Array, mime: string, name: string): ToolContent {
  const value = { source: { case: 'data', value: data }, mime, name } as const
  return create(ToolContentSchema, { content: { case: 'file', value } })
}
