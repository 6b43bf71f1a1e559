import type { NamedGeneration } from '../generation/public-field.ts'
import { type GenerationHeaders, type GenerationInit, toIdentity } from '../generation/request.ts'
import { namesPreset } from '../generation/routing.ts'
import type { CreateResponseBody } from './body.ts'
import { fieldNames } from './public-field.ts'
import { toMessages } from './to-messages.ts'
import { toSettings } from './to-settings.ts'
import { offerOf, type ResponseOffer } from './to-tools.ts'

/** The request for a generation. Rejects with BODY_INVALID where a picture, file or sound cannot be read. */
export function toGenerationRequest(
  body: CreateResponseBody,
  requestId: string,
  headers: GenerationHeaders,
): NamedGeneration & { readonly offer: ResponseOffer } {
  const offer = offerOf(body)
  const { messages, origins } = toMessages(body)
  const generation: GenerationInit = {
    requestId,
    origin: 'responses',
    modelRequired: true,
    messages,
    ...toSettings(body, offer),
    // The answer repeats these members of the request.
    showPreset: namesPreset(body) || undefined,
    ...toIdentity({ ...body, user: body.user ?? body.safety_identifier }, headers),
  }
  return { generation, nameOf: fieldNames({ body, headers, offer, origins }), offer }
}
