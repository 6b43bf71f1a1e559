import { Message_Role } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { toSource } from '../generation/sources.ts'
import type { CreateChatBody } from './body.ts'
import type { AssistantMessage, ChatInputMessage } from './messages.ts'
import { type PlacedPart, textPart, toParts, urlPart } from './to-parts.ts'
import { toThoughts } from './to-thoughts.ts'

type Conversation = Pick<CreateChatBody, 'messages' | 'prompt' | 'prompt_cache_options'>

/** A message of the generation. */
export interface Turn {
  readonly role: Message_Role
  readonly pieces: PlacedPart[]
}

/**
 * The conversation; results of calls that follow one another are one message. Rejects with BODY_INVALID where a
 * picture, file or sound cannot be read, or where nothing is said.
 */
export function toTurns({ messages, prompt, prompt_cache_options: cache }: Conversation): Turn[] {
  if (messages == null) {
    return [{ role: Message_Role.USER, pieces: [{ part: textPart(prompt ?? ''), path: 'prompt' }] }]
  }
  const ttl = cache?.ttl ?? undefined
  const turns: Turn[] = []
  const customCalls = new Set<string>()
  for (const [i, message] of messages.entries()) {
    const pieces = partsOf(message, `messages.${i}`, ttl, customCalls)
    // A message without parts is left out.
    if (pieces.length === 0) continue
    const last = turns.at(-1)
    const role = ROLES[message.role]
    if (role === Message_Role.TOOL && last?.role === role) last.pieces.push(...pieces)
    else turns.push({ role, pieces })
  }
  if (turns.length === 0) throw new Rejection('BODY_INVALID', { field: 'messages', problem: 'must have content' })
  return turns
}

const ROLES = {
  system: Message_Role.SYSTEM,
  developer: Message_Role.SYSTEM,
  user: Message_Role.USER,
  assistant: Message_Role.ASSISTANT,
  tool: Message_Role.TOOL,
} as const

function partsOf(
  message: ChatInputMessage,
  at: string,
  ttl: string | undefined,
  customCalls: Set<string>,
): PlacedPart[] {
  switch (message.role) {
    case 'assistant':
      return fromAssistant(message, at, ttl, customCalls)
    case 'tool': {
      const content = toParts(message.content, `${at}.content`, ttl).map(({ part }) => part)
      const callId = message.tool_call_id
      const value = { callId, content, custom: customCalls.has(callId) }
      return [{ part: { part: { case: 'toolResult', value } }, path: at }]
    }
    default:
      return toParts(message.content, `${at}.content`, ttl)
  }
}

function fromAssistant(
  message: AssistantMessage,
  at: string,
  ttl: string | undefined,
  customCalls: Set<string>,
): PlacedPart[] {
  const { content, refusal, images, files, tool_calls: calls } = message
  const { thoughts, proofs } = toThoughts(message, at)
  const pieces: PlacedPart[] = thoughts
  if (content != null) {
    const sources = sourcesOf(message)
    for (const { part, path } of toParts(content, `${at}.content`, ttl)) {
      // What was said beside calls may be nothing.
      if (part.part?.case === 'text' && part.part.value.text === '') continue
      const cites = sources.length > 0 && typeof content === 'string'
      pieces.push({ part: cites ? { part: { case: 'text', value: { text: content, sources } } } : part, path })
    }
  }
  if (refusal) pieces.push({ part: { part: { case: 'refusal', value: { text: refusal } } }, path: `${at}.refusal` })
  for (const [i, image] of (images ?? []).entries()) {
    pieces.push(urlPart('image', image.image_url.url, `${at}.images.${i}.image_url.url`))
  }
  for (const [i, { file }] of (files ?? []).entries()) {
    pieces.push(
      urlPart('file', file.file_data, `${at}.files.${i}.file.file_data`, { name: file.filename || undefined }),
    )
  }
  for (const [i, call] of (calls ?? []).entries()) {
    const { id: callId } = call
    if (call.type === 'custom') customCalls.add(callId)
    const tool =
      call.type === 'custom'
        ? { name: call.custom.name, arguments: call.custom.input, custom: true }
        : { name: call.function.name, arguments: call.function.arguments }
    const value = { callId, ...tool, ...proofs.get(callId) }
    pieces.push({ part: { part: { case: 'toolCall', value } }, path: `${at}.tool_calls.${i}` })
  }
  return pieces
}

function sourcesOf({ annotations }: AssistantMessage) {
  return (annotations ?? []).flatMap(({ url_citation: cited }) =>
    cited == null ? [] : [{ url: cited.url, ...toSource(cited) }],
  )
}
