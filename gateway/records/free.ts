import type { JsonObject } from '@bufbuild/protobuf'
import { freeObject } from '../shape.ts'

/** Deepest nesting of free-form JSON of clients, which lies in messages that lie in events. */
const DEPTH = 24

/** `Session.Metadata`, and that of a prompt. */
export const metadata = freeObject('Free-form data of the client, not interpreted.', DEPTH)

/** Checked JSON as protobuf takes it. */
export function toStruct(object: Readonly<Record<string, unknown>>): JsonObject {
  return object as JsonObject
}
