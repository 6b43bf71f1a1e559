import type { NamedGeneration } from '../generation/public-field.ts'
import { type GenerationHeaders, type GenerationInit, toIdentity } from '../generation/request.ts'
import type { CreateChatBody } from './body.ts'
import { fieldNames } from './public-field.ts'
import { toTurns } from './to-messages.ts'
import { offerOf, toSettings } from './to-settings.ts'

/** The request for a generation. Rejects with BODY_INVALID where a picture, file or sound cannot be read. */
export function toGenerationRequest(
  body: CreateChatBody,
  requestId: string,
  headers: GenerationHeaders = {},
): NamedGeneration {
  const offer = offerOf(body)
  const turns = toTurns(body)
  const { notApplied = [], ...settings } = toSettings(body, offer)
  const generation: GenerationInit = {
    ...settings,
    ...toIdentity({ ...body, user: body.user ?? body.safety_identifier }, headers),
    requestId,
    origin: 'chat',
    messages: turns.map(({ role, pieces }) => ({ role, parts: pieces.map(({ part }) => part) })),
    notApplied: [...notApplied, ...messagesNotApplied(body)],
  }
  return { generation, nameOf: fieldNames({ body, headers, offer, turns }) }
}

/** Members of messages for which a generation has no place; the name of a tool's only repeats its call. */
function messagesNotApplied({ messages }: CreateChatBody): string[] {
  const hasName = messages?.some(({ role, name }) => role !== 'tool' && name != null) === true
  const spoken = messages?.findIndex((message) => message.role === 'assistant' && message.audio != null) ?? -1
  return [...(hasName ? ['messages.name'] : []), ...(spoken < 0 ? [] : [`messages.${spoken}.audio`])]
}
