import { Rejection } from '#shared/rejection.ts'
import type { JsonObject } from '../domain/session.ts'

/** Longest id that a client may choose, in characters. */
const MAX_ID_LENGTH = 128
const MAX_METADATA_BYTES = 65_536

/** The refusal of an argument. */
export function invalid(field: string, problem: string): Rejection {
  return new Rejection('REQUEST_INVALID', { field, problem })
}

/** A session id: `ses` and at most 125 characters, none of them a control. */
export function parseSessionId(sessionId: string): string {
  return parseId('session_id', sessionId, 'ses')
}

/** A message id: `msg_` and at most 124 characters, none of them a control. */
export function parseMessageId(messageId: string): string {
  return parseId('message_id', messageId, 'msg_')
}

/** Checks that a text has from `least` to `most` characters. */
export function parseText(field: string, text: string, least: number, most: number): string {
  if (text.length < least || text.length > most) throw invalid(field, `must have ${least} to ${most} characters`)
  return text
}

/** Checks that free-form data is at most 64 KiB as JSON. */
export function parseMetadata(metadata: JsonObject | undefined): JsonObject | undefined {
  if (metadata !== undefined && Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES) {
    throw invalid('metadata', `must be at most ${MAX_METADATA_BYTES} bytes as JSON`)
  }
  return metadata
}

/** Items of a page: 0 is the default, too many are taken as the maximum. */
export function parsePageSize(pageSize: number, byDefault: number, most: number): number {
  if (pageSize < 0) throw invalid('page_size', 'must not be negative')
  return pageSize === 0 ? byDefault : Math.min(pageSize, most)
}

function parseId(field: string, id: string, prefix: string): string {
  if (!id.startsWith(prefix) || id.length > MAX_ID_LENGTH || /\p{Cc}/u.test(id)) {
    throw invalid(field, `must start with ${prefix} and have at most ${MAX_ID_LENGTH} characters`)
  }
  return id
}
