import { type GenerationHeaders, type GenerationInit, toIdentity } from '../generation/request.ts'
import type { CreateChatBody } from './body.ts'
import { toMessages } from './to-messages.ts'
import { toSettings } from './to-settings.ts'

/** The request for a generation. Rejects with BODY_INVALID where a picture, file or sound cannot be read. */
export function toGenerationRequest(
  body: CreateChatBody,
  requestId: string,
  headers: GenerationHeaders = {},
): GenerationInit {
  const { notApplied = [], ...settings } = toSettings(body)
  return {
    ...settings,
    ...toIdentity({ ...body, user: body.user ?? body.safety_identifier }, headers),
    requestId,
    origin: 'chat',
    messages: toMessages(body),
    notApplied: hasNames(body) ? [...notApplied, 'messages.name'] : notApplied,
  }
}

/** Whether a message names who speaks, for which a generation has no place; that of a tool only repeats its call. */
function hasNames({ messages }: CreateChatBody): boolean {
  return messages?.some(({ role, name }) => role !== 'tool' && name != null) === true
}
