import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  type CacheControl,
  type MediaPart,
  type Message,
  type Part,
  Message_Role as Role,
  type TextPart,
} from '#gen/portico/inference/v1/inference_pb.js'
import { type Content, isMedia, type MediaKind } from '#services/inference/domain/conversation.ts'
import { isForeign } from '#services/inference/domain/left-out.ts'
import type { JsonObject } from '#shared/json.ts'
import { base64, inline } from '../http/data-url.ts'
import { objectAt } from '../http/json.ts'
import { ANTHROPIC } from './extension.ts'
import { type AnthropicTools, inputOfCustom } from './tools.ts'

const PDF = 'application/pdf'
const CALL_ID = /^[A-Za-z0-9_-]+$/

type Block = Record<string, unknown>

/** Marks everything up to here for caching. */
function markerOf({ ttl }: CacheControl): Block {
  return { type: 'ephemeral', ...(ttl ? { ttl } : {}) }
}

/** The API's roles: results of tools belong to the user. */
const ROLES = {
  [Role.UNSPECIFIED]: 'user',
  [Role.SYSTEM]: 'system',
  [Role.USER]: 'user',
  [Role.ASSISTANT]: 'assistant',
  [Role.TOOL]: 'user',
} as const

interface Turn {
  readonly role: (typeof ROLES)[Role]
  /** Undefined: it only says how the answer is made. */
  readonly content?: Block[]
}

/**
 * The conversation for the messages API, and the instructions before it. `staying`: instructions that remain within it.
 */
export function anthropicConversation(
  messages: readonly Message[],
  tools: AnthropicTools,
  staying: ReadonlySet<Message>,
): { readonly system: Block[]; readonly messages: readonly Turn[] } {
  const system: Block[] = []
  const turns: Turn[] = []
  for (const message of messages) {
    const content = blocksOf(message.parts, tools)
    const role = ROLES[message.role]
    const last = turns.at(-1)
    const more = objectAt(message.providerMetadata?.[ANTHROPIC])
    if (role === 'system' && (!staying.has(message) || last === undefined)) push(system, content)
    else if (last?.role === role && last.content !== undefined && more === undefined) push(last.content, content)
    else if (content.length > 0) turns.push({ ...more, role, content })
    else if (more !== undefined) turns.push({ ...more, role })
  }
  return { system, messages: turns }
}

/** One by one: a list may be too long for one call. */
function push(blocks: Block[], more: readonly Block[]): void {
  for (const block of more) blocks.push(block)
}

/** What a part says in the API's own words never replaces what it says in ours. */
function blocksOf(parts: readonly Part[], tools: AnthropicTools): Block[] {
  return parts.flatMap((part) => {
    const block = blockOf(part, tools)
    if (block === undefined) return []
    const more = objectAt(part.providerMetadata?.[ANTHROPIC])
    const whole = more === undefined ? block : { ...more, ...block }
    return [part.cacheControl === undefined ? whole : { ...whole, cache_control: markerOf(part.cacheControl) }]
  })
}

/** The API refuses empty texts and thoughts without a signature, so they are left out. */
function blockOf(whole: Part, tools: AnthropicTools): Block | undefined {
  const { part } = whole
  switch (part.case) {
    case 'text':
    case 'refusal':
      return isBlank(part.value) ? undefined : { type: 'text', text: part.value.text }
    case 'foreign':
      return isForeign(whole, ANTHROPIC) ? undefined : part.value.item
    case 'reasoning': {
      if (isForeign(whole, ANTHROPIC)) return undefined
      const { encrypted, signature, text } = part.value
      if (encrypted) return { type: 'redacted_thinking', data: encrypted }
      return signature ? { type: 'thinking', thinking: text ?? '', signature } : undefined
    }
    case 'toolCall': {
      const { callId, name, namespace, custom, arguments: text } = part.value
      const input = custom ? inputOfCustom(text) : inputOf(text)
      return { type: 'tool_use', id: callIdOf(callId), name: tools.nameOf(name, namespace), input }
    }
    case 'toolResult': {
      const { callId, content, failed } = part.value
      const error = failed ? { is_error: true } : {}
      return { type: 'tool_result', tool_use_id: callIdOf(callId), content: blocksOf(content, tools), ...error }
    }
    default:
      return isMedia(part) && unsupportedIn(part) === undefined ? mediaBlock(part.case, part.value) : undefined
  }
}

/** Whether a text has no content. */
export function isBlank({ text }: TextPart): boolean {
  return text.trim() === ''
}

/** What the API does not accept of a part, in words; undefined: nothing. */
export function unsupportedIn(part: Content): string | undefined {
  switch (part.case) {
    case 'audio':
    case 'video':
      return part.case
    case 'file':
      return isReadable(part.value) ? undefined : `file of the type ${part.value.mime?.slice(0, 64) || 'unknown'}`
    case 'toolResult':
      return part.value.content.map((inner) => unsupportedIn(inner.part)).find((kind) => kind !== undefined)
    default:
      return undefined
  }
}

/** Whether a file is a text or a PDF; one that only the provider fetches may be. */
function isReadable(media: MediaPart): boolean {
  const { source, mime } = inline(media)
  return source.case !== 'data' || mime === PDF || isUtf8(source.value)
}

function mediaBlock(kind: MediaKind, media: MediaPart): Block {
  const { source, mime } = inline(media)
  const title = kind === 'file' && media.name ? { title: media.name } : {}
  const type = kind === 'image' ? 'image' : 'document'
  if (source.case !== 'data') return { type, source: { type: 'url', url: source.value }, ...title }
  if (type === 'document' && mime !== PDF) {
    const data = Buffer.from(source.value).toString('utf8')
    return { type, source: { type: 'text', media_type: 'text/plain', data }, ...title }
  }
  return { type, source: { type: 'base64', media_type: mime || 'image/png', data: base64(source.value) }, ...title }
}

/** A model may have written broken JSON, which goes back in the form that the makers of the API advise. */
function inputOf(text: string): JsonObject {
  if (text === '') return {}
  try {
    const input = objectAt(JSON.parse(text))
    if (input !== undefined) return input
  } catch {}
  return { INVALID_JSON: text }
}

/**
 * A call id that the API accepts: ids made by other providers and clients (`call:1`) may contain characters that it
 * refuses. The same id always becomes the same one, in the call and in its result, so that a cached prefix does not
 * change.
 */
function callIdOf(id: string): string {
  return CALL_ID.test(id) ? id : `toolu_${createHash('sha256').update(id).digest('base64url').slice(0, 24)}`
}
