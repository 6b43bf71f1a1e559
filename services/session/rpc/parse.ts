import type { JsonObject } from '#shared/json.ts'
import { check, parseId } from '#shared/rpc/parse.ts'

const MAX_METADATA_BYTES = 65_536

/** A session id: `ses` and at most 125 characters, none of them a control. */
export function parseSessionId(sessionId: string): string {
  return parseId('session_id', sessionId, 'ses')
}

/** A message id: `msg_` and at most 124 characters, none of them a control. */
export function parseMessageId(messageId: string): string {
  return parseId('message_id', messageId, 'msg_')
}

/** Checks that free-form data is at most 64 KiB as JSON. */
export function parseMetadata(metadata: JsonObject | undefined): JsonObject | undefined {
  const bytes = metadata === undefined ? 0 : Buffer.byteLength(JSON.stringify(metadata))
  check(bytes <= MAX_METADATA_BYTES, 'metadata', `must be at most ${MAX_METADATA_BYTES} bytes as JSON`)
  return metadata
}
