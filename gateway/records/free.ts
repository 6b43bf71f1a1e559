import { SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { freeObject, limitedBy } from '../shape.ts'

/** Deepest nesting of clients' free-form JSON, which is nested in messages, which are nested in events. */
const DEPTH = 24

export const metadata = freeObject('Free-form data of the client, not interpreted.', DEPTH)

/** `Session.Metadata`, and that of an input that is sent. */
export const sentMetadata = limitedBy(SessionSchema.field.metadata, metadata)

/** Checked JSON as protobuf takes it. */
export function toStruct(object: Readonly<Record<string, unknown>>): JsonObject {
  return object as JsonObject
}

/** An empty list stands for "absent" in the protobuf files. */
export function listOrAbsent<T, J>(items: readonly T[] = [], map: (item: T) => J): J[] | undefined {
  return items.length === 0 ? undefined : items.map(map)
}
