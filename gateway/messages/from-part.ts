import type { MediaPart, Part, Source, ToolCallPart } from '#gen/portico/inference/v1/inference_pb.js'
import { isObject, parseObject } from '#shared/json.ts'
import { toBase64 } from '../records/tool-content.ts'
import type { ContentBlock } from './answer.ts'
import type { Delta } from './events.ts'
import { fromForeign, fromThought } from './thoughts.ts'
import { ANTHROPIC } from './to-settings.ts'

/** The block for a part, with its sources; undefined: the part is empty, or has no form in a message. */
export function fromPart({ part, providerMetadata }: Part, sources: readonly Source[]): ContentBlock | undefined {
  switch (part.case) {
    case 'text':
    case 'refusal': {
      const { text } = part.value
      if (text === '') return undefined
      const cited = citationsOf(providerMetadata?.citations, sources)
      return { ...besidesOf(providerMetadata), type: 'text', text, citations: cited.length === 0 ? undefined : cited }
    }
    case 'reasoning': {
      const block = fromThought(part.value)
      const isEmpty = block.type === 'thinking' && block.thinking === '' && block.signature === ''
      return isEmpty ? undefined : { ...besidesOf(providerMetadata), ...block }
    }
    case 'toolCall': {
      const { callId: id, name } = part.value
      const call = { type: 'tool_use', id, name, input: inputOf(part.value), ...proofOf(part.value) } as const
      return { ...besidesOf(providerMetadata), ...call }
    }
    case 'image':
      return { type: 'image', source: sourceOf(part.value) }
    case 'file':
      return { type: 'document', source: sourceOf(part.value), title: part.value.name ?? null }
    case 'foreign':
      return part.value.format === ANTHROPIC ? (part.value.item as ContentBlock | undefined) : fromForeign(part.value)
    default:
      return undefined
  }
}

/** The provider's proof of a call, and the kind of provider that made it. */
export function proofOf({ signature, format }: Pick<ToolCallPart, 'signature' | 'format'>) {
  return signature ? { signature, format: format || undefined } : {}
}

/** The members of a block that only Anthropic has, such as its caller. */
export function besidesOf(metadata: Part['providerMetadata']): Record<string, unknown> {
  const own = metadata?.[ANTHROPIC]
  return isObject(own) ? own : {}
}

/** How a block begins in a stream, before anything of it is there. */
export function beginningOf(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case 'text': {
      const { citations: _, ...rest } = block
      return { ...rest, type: 'text', text: '' }
    }
    case 'thinking':
      return { ...block, type: 'thinking', thinking: '', signature: '' }
    default:
      return 'input' in block && isObject(block.input) ? { ...block, input: {} } : block
  }
}

/** The streamed content of a block, as one piece; undefined: nothing of it is streamed. */
export function growthOf(block: ContentBlock): Delta | undefined {
  if (isBlock(block, 'text')) return { type: 'text_delta', text: block.text }
  if (isBlock(block, 'thinking')) {
    return block.thinking === '' ? undefined : { type: 'thinking_delta', thinking: block.thinking }
  }
  if (!('input' in block) || !isObject(block.input)) return undefined
  return { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
}

export function endingOf(block: ContentBlock): Delta[] {
  if (isBlock(block, 'thinking') && block.signature !== '') {
    return [{ type: 'signature_delta', signature: block.signature }]
  }
  if (!isBlock(block, 'text')) return []
  return (block.citations ?? []).map((citation) => ({ type: 'citations_delta', citation }))
}

function isBlock<T extends 'text' | 'thinking'>(
  block: ContentBlock,
  type: T,
): block is Extract<ContentBlock, { readonly type: T }> {
  return block.type === type
}

/** Of Anthropic's own text its citations as they came; of others' the addresses that they name, as of a web search. */
function citationsOf(own: unknown, sources: readonly Source[]): Record<string, unknown>[] {
  if (Array.isArray(own)) return own.filter(isObject)
  return sources.flatMap(({ url, title, citedText = '' }) => {
    if (!url) return []
    const source = { url, title: title ?? null, cited_text: citedText, encrypted_index: '' }
    return [{ type: 'web_search_result_location', ...source }]
  })
}

/** A tool is called with an object; anything else is kept as Anthropic advises for JSON that is not valid. */
function inputOf({ custom, arguments: text }: ToolCallPart): Record<string, unknown> {
  if (custom) return { input: text }
  if (text === '') return {}
  return parseObject(text) ?? { INVALID_JSON: text }
}

function sourceOf({ source, mime }: MediaPart) {
  if (source.case === 'url') return { type: 'url', url: source.value } as const
  const data = toBase64(source.value ?? new Uint8Array())
  return { type: 'base64', media_type: mime ?? 'application/octet-stream', data } as const
}
