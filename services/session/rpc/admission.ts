import { hash } from 'node:crypto'
import { Delivery, DeliverySchema } from '#gen/portico/session/v1/session_pb.js'
import { PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { isObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { checkEnum } from '#shared/rpc/parse.ts'
import type { NotAdmitted } from '../domain/inbox/inputs.ts'
import { MOST_INBOX_ITEMS } from '../domain/inbox.ts'

/** Maximum number of characters of a prompt or a synthetic text. */
export const { most: MAX_TEXT_LENGTH } = limitOf(PromptSessionRequestSchema.field.text)

/** The delivery of an input; absent: `steer`. */
export function parseDelivery(delivery = Delivery.STEER): Delivery {
  checkEnum(DeliverySchema, delivery, 'delivery')
  return delivery
}

/** The digest of what has to be the same when an id is sent again, whatever the order of its members. */
export function digestOf(sent: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(sent, inOrder), 'base64url')
}

/** Returns what was admitted; rejects if nothing was. */
export function checkAdmitted<T extends object | undefined>(
  admitted: T | NotAdmitted,
  sessionId: string,
  messageId: string,
): T {
  switch (admitted) {
    case 'cancelled':
      throw new Rejection('INBOX_ITEM_CANCELLED', { message_id: messageId })
    case 'taken':
      throw new Rejection('PROMPT_CONFLICT', { message_id: messageId })
    case 'full':
      throw new Rejection('INBOX_FULL', { session_id: sessionId, limit: `${MOST_INBOX_ITEMS}` })
    default:
      return admitted
  }
}

/** For JSON.stringify: sorts the members of objects by name. */
function inOrder(_: string, value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
