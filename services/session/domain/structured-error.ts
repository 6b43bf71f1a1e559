import { create } from '@bufbuild/protobuf'
import { type StructuredError, StructuredErrorSchema } from '#gen/portico/session/v1/message_pb.js'

/** What went wrong. */
export function structuredError(type: string, message: string, status?: number): StructuredError {
  return create(StructuredErrorSchema, { type, message, status })
}
