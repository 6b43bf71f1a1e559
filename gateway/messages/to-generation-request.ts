import type { NamedGeneration } from '../generation/public-field.ts'
import { type GenerationHeaders, type GenerationInit, toIdentity } from '../generation/request.ts'
import { type CreateMessageBody, KNOWN_MEMBERS } from './body.ts'
import { fieldNames } from './public-field.ts'
import { toMessages, toTurns } from './to-messages.ts'
import { ANTHROPIC, toSettings } from './to-settings.ts'
import { offerOf } from './tools.ts'

/** Headers that the operations of messages look at besides those of every generation. */
export interface MessagesHeaders extends GenerationHeaders {
  readonly 'anthropic-beta'?: string | undefined
  readonly 'x-anthropic-beta'?: string | undefined
}

/** The request for a generation. Rejects with BODY_INVALID where a picture or document cannot be read. */
export function toGenerationRequest(
  body: CreateMessageBody,
  requestId: string,
  headers: MessagesHeaders,
): NamedGeneration {
  const { user_id: userId, ...pairs } = body.metadata ?? {}
  const present = Object.entries(pairs).flatMap(([name, value]) => (value == null ? [] : [[name, value] as const]))
  const offer = offerOf(body)
  const turns = toTurns(body)
  const { extensions = [], ...settings } = toSettings(body, offer)
  const generation: GenerationInit = {
    ...settings,
    ...toIdentity({ ...body, user: body.user ?? userId, metadata: Object.fromEntries(present) }, headers),
    requestId,
    origin: 'messages',
    modelRequired: true,
    messages: toMessages(turns),
    extensions: extensionsOf(extensions, body, headers),
  }
  return { generation, nameOf: fieldNames({ body, headers, offer, turns }) }
}

type Extensions = NonNullable<GenerationInit['extensions']>

/** The header switches on betas of Anthropic's, whose members are not known here. */
function extensionsOf(extensions: Extensions, body: CreateMessageBody, headers: MessagesHeaders): Extensions {
  const betas = [headers['anthropic-beta'], headers['x-anthropic-beta']].filter(Boolean).join(',')
  if (betas === '') return extensions
  const unknown = Object.entries(body).filter(([name]) => !KNOWN_MEMBERS.has(name))
  const members = { ...Object.fromEntries(unknown), ...extensions[0]?.body } as NonNullable<
    GenerationInit['providerBody']
  >
  return [{ format: ANTHROPIC, headers: { 'anthropic-beta': betas }, body: members }]
}
