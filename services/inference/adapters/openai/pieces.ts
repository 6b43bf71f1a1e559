import { type MediaPart, type Part, textOf } from '#services/inference/domain/conversation.ts'
import type { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { Omissions } from '#services/inference/domain/omissions.ts'
import { base64, fromUrl, toUrl } from '../http/data-url.ts'
import type { ChatProfile } from './dialect.ts'

type Item = Record<string, unknown>

/** What the conversion of a conversation also needs. */
export interface ChatContext {
  readonly profile: ChatProfile
  readonly flat: FlatTools
  readonly omissions: Omissions
  /** The formats of proofs that the server wants back. */
  readonly formats: readonly string[]
}

/** The content of a message: a string if it is only text, else a list of pieces. */
export function contentOf(parts: readonly Part[], context: ChatContext): string | Item[] {
  const [first] = parts
  const marked = first !== undefined && isMarked(first, context)
  return parts.length === 1 && first?.type === 'text' && !marked ? first.text : piecesOf(parts, context)
}

/** OpenAI caches automatically and refuses markers; what most other servers do with one is unknown. */
function isMarked({ cache }: Part, { profile: { dialect } }: ChatContext): boolean {
  return cache !== undefined && dialect !== 'openai' && (dialect === 'openrouter' || cache.hint !== true)
}

/** The pieces of a content. */
export function piecesOf(parts: readonly Part[], context: ChatContext): Item[] {
  return parts.flatMap((part) => {
    const piece = pieceOf(part, context)
    if (piece === undefined) return []
    if (!isMarked(part, context)) return [piece]
    const { ttl } = part.cache ?? {}
    return [{ ...piece, cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } }]
  })
}

function pieceOf(part: Part, { profile, omissions }: ChatContext): Item | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: textOf([part]) }
    case 'image': {
      const detail = part.detail ? { detail: part.detail } : {}
      return { type: 'image_url', image_url: { url: toUrl(part.source, part.mime || 'image/png'), ...detail } }
    }
    case 'file': {
      const name = part.name ? { filename: part.name } : {}
      return { type: 'file', file: { ...name, file_data: toUrl(part.source, part.mime) } }
    }
    case 'audio':
      return sound(part)
    case 'video':
      if (profile.dialect !== 'openai')
        return { type: 'video_url', video_url: { url: toUrl(part.source, part.mime || 'video/mp4') } }
      omissions.add('messages', 'This provider does not support video: it was left out')
      return undefined
    default:
      return undefined
  }
}

function sound({ source, mime }: MediaPart): Item {
  const inline = 'url' in source ? fromUrl(source.url) : { source, mime }
  const data = 'data' in inline.source ? base64(inline.source.data) : inline.source.url
  const format = /wav/i.test(mime || inline.mime || '') ? 'wav' : 'mp3'
  return { type: 'input_audio', input_audio: { data, format } }
}
