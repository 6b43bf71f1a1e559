import { type GenerationHeaders, type GenerationInit, toIdentity } from '../generation/call.ts'
import type { CreateChatBody } from './body.ts'
import { toMessages } from './to-messages.ts'
import { toSettings } from './to-settings.ts'

/** What the inference service is asked for. Rejects with BODY_INVALID where a picture, file or sound cannot be read. */
export function toGenerationRequest(
  body: CreateChatBody,
  requestId: string,
  headers: GenerationHeaders = {},
): GenerationInit {
  return {
    ...toSettings(body),
    ...toIdentity({ ...body, user: body.user ?? body.safety_identifier }, headers),
    requestId,
    origin: 'chat',
    messages: toMessages(body),
  }
}
