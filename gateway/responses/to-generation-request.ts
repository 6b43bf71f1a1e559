import { type GenerationHeaders, type GenerationInit, toIdentity } from '../generation/request.ts'
import { namesPreset } from '../generation/routing.ts'
import type { CreateResponseBody } from './body.ts'
import { toMessages } from './to-messages.ts'
import { toSettings } from './to-settings.ts'

/** The request for a generation. Rejects with BODY_INVALID where a picture, file or sound cannot be read. */
export function toGenerationRequest(
  body: CreateResponseBody,
  requestId: string,
  headers: GenerationHeaders,
): GenerationInit {
  return {
    requestId,
    origin: 'responses',
    modelRequired: true,
    messages: toMessages(body),
    ...toSettings(body),
    // The answer repeats these members of the request.
    showPreset: namesPreset(body) || undefined,
    ...toIdentity({ ...body, user: body.user ?? body.safety_identifier }, headers),
  }
}
