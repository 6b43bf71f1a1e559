import {
  type Message,
  type Part,
  type ReasoningPart,
  Message_Role as Role,
  type ToolCallPart,
} from '#gen/portico/inference/v1/inference_pb.js'
import { isMedia, textOf } from '#services/inference/domain/conversation.ts'
import { toUrl } from '../http/data-url.ts'
import { type ChatContext, contentOf, piecesOf, writeProof } from './pieces.ts'

type Item = Record<string, unknown>

export function openaiMessages(messages: readonly Message[], context: ChatContext): Item[] {
  return messages.flatMap(({ role, parts }, i) => {
    const at = `messages[${i}].parts`
    if (role === Role.ASSISTANT) return assistant(parts, at, context)
    if (role === Role.TOOL) return results(parts, at, context)
    const content = contentOf(parts, at, context)
    return Array.isArray(content) && content.length === 0
      ? []
      : [{ role: role === Role.SYSTEM ? 'system' : 'user', content }]
  })
}

/** OpenAI refuses an empty message, so it is left out. */
function assistant(parts: readonly Part[], at: string, context: ChatContext): Item[] {
  const calls = parts.flatMap(({ part }) => (part.case === 'toolCall' ? [callOf(part.value, context)] : []))
  const refusals = parts.filter(({ part }) => part.case === 'refusal')
  const words = parts.filter(({ part }) => part.case === 'text')
  const besides = {
    ...(refusals.length === 0 ? {} : { refusal: textOf(refusals) }),
    ...thoughts(parts, context),
    ...others(parts, at, context),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  if (words.length === 0)
    return Object.keys(besides).length === 0 ? [] : [{ role: 'assistant', content: null, ...besides }]
  return [{ role: 'assistant', content: contentOf(words, at, context), ...besides }]
}

function callOf(call: ToolCallPart, { profile, flat, formats }: ChatContext): Item {
  const { callId: id, custom, arguments: text } = call
  const name = flat.nameOf(call.name, call.namespace)
  if (custom && profile.dialect === 'openai') return { id, type: 'custom', custom: { name, input: text } }
  const called = { name, arguments: custom ? JSON.stringify({ input: text }) : text }
  return { id, type: 'function', function: called, ...writeProof(call, formats) }
}

/**
 * OpenRouter accepts thoughts and proofs of every kind, each for the provider that made it; others accept plain
 * thoughts, or none.
 */
function thoughts(parts: readonly Part[], { profile, omissions }: ChatContext): Item {
  if (profile.dialect === 'openrouter') {
    const details = parts.flatMap(({ part }) => {
      if (part.case === 'reasoning') return reasoningDetails(part.value)
      return part.case === 'toolCall' && part.value.signature ? [proofDetail(part.value)] : []
    })
    return details.length === 0 ? {} : { reasoning_details: details }
  }
  const held = parts.flatMap(({ part }) => (part.case === 'reasoning' ? [part.value] : []))
  if (held.length === 0) return {}
  const plain = held.filter(({ text, format }) => text && format === undefined)
  const without = 'Thoughts were left out: the provider does not accept them'
  if (!profile.reasoningContent) omissions.add('messages', without)
  const text = profile.reasoningContent ? plain.map(({ text }) => text).join('\n\n') : ''
  return text === '' ? {} : { reasoning_content: text }
}

function proofDetail({ callId, signature, format }: ToolCallPart): Item {
  return { type: 'reasoning.encrypted', data: signature, id: callId, ...(format ? { format } : {}) }
}

function reasoningDetails({ text, summary, signature, encrypted, id, format }: ReasoningPart): Item[] {
  const origin = { ...(id ? { id } : {}), ...(format ? { format } : {}) }
  const details: Item[] = []
  if (summary) details.push({ type: 'reasoning.summary', summary, ...origin })
  if (text || signature) {
    details.push({ type: 'reasoning.text', text: text ?? '', ...(signature ? { signature } : {}), ...origin })
  }
  if (encrypted) details.push({ type: 'reasoning.encrypted', data: encrypted, ...origin })
  return details
}

/** Pictures that the model made, which OpenRouter accepts; everything else is left out. */
function others(parts: readonly Part[], at: string, { profile, omissions, formats }: ChatContext): Item {
  const images: Item[] = []
  const takesBack = profile.dialect === 'openrouter'
  for (const [i, { part }] of parts.entries()) {
    if (part.case === 'image' && takesBack) {
      images.push({ type: 'image_url', image_url: { url: toUrl(part.value, 'image/png') } })
    } else if (part.case === 'foreign') {
      const { format } = part.value
      // The others are in warnings already (`openaiWarnings`).
      if (takesBack || formats.includes(format)) omissions.add('messages', `Items of ${format} were left out`)
    } else if (isMedia(part)) {
      omissions.add(`${at}[${i}]`, `This provider does not accept ${part.case} in history: it was left out`)
    }
  }
  return images.length === 0 ? {} : { images }
}

/** A result is text; pictures and files in it follow in a user message, the only kind that may contain them. */
function results(parts: readonly Part[], at: string, context: ChatContext): Item[] {
  const items: Item[] = []
  const media: Item[][] = []
  for (const [i, { part }] of parts.entries()) {
    if (part.case !== 'toolResult') continue
    const { callId, content } = part.value
    items.push({ role: 'tool', tool_call_id: callId, content: textOf(content) })
    const held = content.flatMap((inner, j) =>
      isMedia(inner.part) ? piecesOf(inner, `${at}[${i}].tool_result.content[${j}]`, context) : [],
    )
    if (held.length > 0) media.push([{ type: 'text', text: `Call ${callId} returned:` }, ...held])
  }
  if (media.length > 0) items.push({ role: 'user', content: media.flat() })
  return items
}
