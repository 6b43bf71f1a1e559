import { isUtf8 } from 'node:buffer'
import type { CacheControl, MediaPart, Message, Part, TextPart } from '#services/inference/domain/conversation.ts'
import { isForeign } from '#services/inference/domain/left-out.ts'
import type { JsonObject } from '#shared/json.ts'
import { base64, fromUrl } from '../http/data-url.ts'
import { objectAt } from '../http/json.ts'
import { callIdOf } from './call-ids.ts'
import { ANTHROPIC } from './extension.ts'
import { type AnthropicTools, inputOfCustom } from './tools.ts'

const PDF = 'application/pdf'

type Block = Record<string, unknown>

/** Marks everything up to here for caching. */
function markerOf({ ttl }: CacheControl): Block {
  return { type: 'ephemeral', ...(ttl ? { ttl } : {}) }
}

interface Turn {
  readonly role: 'user' | 'assistant' | 'system'
  /** Undefined: it only says how the answer is made. */
  readonly content?: Block[]
}

/**
 * The conversation for the messages API, where results of tools belong to the user, and the instructions before it.
 * `staying`: instructions that remain within it.
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
    const role = message.role === 'tool' ? 'user' : message.role
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
    return [part.cache === undefined ? whole : { ...whole, cache_control: markerOf(part.cache) }]
  })
}

/** The API refuses empty texts and thoughts without a signature, so they are left out. */
function blockOf(part: Part, tools: AnthropicTools): Block | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return isBlank(part) ? undefined : { type: 'text', text: part.text }
    case 'foreign':
      return isForeign(part, ANTHROPIC) ? undefined : part.item
    case 'reasoning':
      if (isForeign(part, ANTHROPIC)) return undefined
      if (part.encrypted) return { type: 'redacted_thinking', data: part.encrypted }
      return part.signature ? { type: 'thinking', thinking: part.text ?? '', signature: part.signature } : undefined
    case 'tool-call': {
      const { callId, name, namespace, custom } = part
      const input = custom ? inputOfCustom(part.arguments) : inputOf(part.arguments)
      return { type: 'tool_use', id: callIdOf(callId), name: tools.nameOf(name, namespace), input }
    }
    case 'tool-result': {
      const failed = part.failed ? { is_error: true } : {}
      const content = blocksOf(part.content, tools)
      return { type: 'tool_result', tool_use_id: callIdOf(part.callId), content, ...failed }
    }
    default:
      return unsupportedIn(part) === undefined ? mediaBlock(part) : undefined
  }
}

/** Whether a text has no content. */
export function isBlank({ text }: TextPart): boolean {
  return text.trim() === ''
}

/** What the API does not accept of a part, in words; undefined: nothing. */
export function unsupportedIn(part: Part): string | undefined {
  switch (part.type) {
    case 'audio':
    case 'video':
      return part.type
    case 'file':
      return isReadable(part) ? undefined : `file of the type ${part.mime?.slice(0, 64) || 'unknown'}`
    case 'tool-result':
      return part.content.map(unsupportedIn).find((kind) => kind !== undefined)
    default:
      return undefined
  }
}

/** Whether a file is a text or a PDF; one that only the provider fetches may be. */
function isReadable({ source, mime }: MediaPart): boolean {
  const inline = 'url' in source ? fromUrl(source.url) : { source, mime }
  return 'url' in inline.source || (mime || inline.mime) === PDF || isUtf8(inline.source.data)
}

function mediaBlock(part: MediaPart): Block {
  const inline = 'url' in part.source ? fromUrl(part.source.url) : { source: part.source, mime: part.mime }
  const mime = part.mime || inline.mime
  const title = part.type === 'file' && part.name ? { title: part.name } : {}
  const type = part.type === 'image' ? 'image' : 'document'
  if ('url' in inline.source) return { type, source: { type: 'url', url: inline.source.url }, ...title }
  if (type === 'document' && mime !== PDF) {
    const data = Buffer.from(inline.source.data).toString('utf8')
    return { type, source: { type: 'text', media_type: 'text/plain', data }, ...title }
  }
  const source = { type: 'base64', media_type: mime || 'image/png', data: base64(inline.source.data) }
  return { type, source, ...title }
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
