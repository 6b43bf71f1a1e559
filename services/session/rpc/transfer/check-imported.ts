import {
  AssistantMessageSchema,
  AssistantToolSchema,
  type Message as MessageProto,
} from '#gen/portico/session/v1/message_pb.js'
import { fitsAsJson, MAX_MESSAGE_BYTES } from '#services/session/domain/message/size.ts'
import { isSettled, type Message } from '#services/session/domain/message.ts'
import { checkLimits, limitOf } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { messageFromProto } from './message-from-proto.ts'

const checkStep = checkLimits(AssistantMessageSchema)
const checkTool = checkLimits(AssistantToolSchema)
/** The lists of a user's message may be as long as those of a step. */
const { most: MOST_ITEMS } = limitOf(AssistantMessageSchema.field.parts)

/**
 * The message to import; undefined: it was still running in the exporting server, and is left out (instance facts 3.7).
 * It must be no larger than what can be read in one go; `field` names it. Rejects with REQUEST_INVALID.
 */
export function importedMessage(given: MessageProto, field: string): Message | undefined {
  const message = messageFromProto(given)
  if (!isSettled(message)) return undefined
  const { kind } = given
  if (kind.case === 'assistant') {
    checkStep(kind.value, `${field}.assistant`)
    for (const [i, { part }] of kind.value.parts.entries()) {
      if (part.case === 'tool') checkTool(part.value, `${field}.assistant.parts.${i}.tool`)
    }
  } else if (kind.case === 'user') {
    for (const list of ['files', 'agents', 'skills'] as const) {
      const fits = kind.value[list].length <= MOST_ITEMS
      check(fits, `${field}.user.${list}`, `must have at most ${MOST_ITEMS} items`)
    }
  }
  const fits = fitsAsJson(message, MAX_MESSAGE_BYTES)
  check(fits, field, `must have at most ${MAX_MESSAGE_BYTES} bytes, not counting its files`)
  return message
}
