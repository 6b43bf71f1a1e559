import type { MessageInitShape } from '@bufbuild/protobuf'
import type { MediaPartSchema, Part as PartMessage, PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { mediaFromAudio, mediaFromUrl } from '../generation/media.ts'
import type { ContentPart } from './parts.ts'

type Part = Exclude<MessageInitShape<typeof PartSchema>, PartMessage>
type Media = MessageInitShape<typeof MediaPartSchema>

/** A part, and the member of the body that it was made of. */
export interface PlacedPart {
  readonly part: Part
  readonly path: string
}

/**
 * The parts of a content; `ttl` is that of breakpoints that name none. Rejects with BODY_INVALID where a picture, file
 * or sound cannot be read.
 */
export function toParts(content: string | readonly ContentPart[], at: string, ttl: string | undefined): PlacedPart[] {
  if (typeof content === 'string') return [{ part: textPart(content), path: at }]
  return content.map((item, i) => {
    const piece = toPart(item, `${at}.${i}`)
    const cache = 'cache_control' in item ? item.cache_control : undefined
    const hasMark = cache != null || ('prompt_cache_breakpoint' in item && item.prompt_cache_breakpoint != null)
    if (!hasMark) return piece
    return { ...piece, part: { ...piece.part, cacheControl: { ttl: cache?.ttl ?? ttl } } }
  })
}

export function textPart(text: string): Part {
  return { part: { case: 'text', value: { text } } }
}

/** A picture, file or video that is named by an address or lies in a data: URL. */
export function urlPart(kind: 'image' | 'file' | 'video', url: string, path: string, more: Media = {}): PlacedPart {
  return { part: { part: { case: kind, value: { ...mediaFromUrl(url, path), ...more } } }, path }
}

function toPart(part: ContentPart, at: string): PlacedPart {
  switch (part.type) {
    case 'text':
      return { part: textPart(part.text), path: at }
    case 'refusal':
      return { part: { part: { case: 'refusal', value: { text: part.refusal } } }, path: at }
    case 'image_url': {
      const { url, detail } = part.image_url
      return urlPart('image', url, `${at}.image_url.url`, { detail: detail ?? undefined })
    }
    case 'video_url':
    case 'input_video':
      return urlPart('video', part.video_url.url, `${at}.video_url.url`)
    case 'file': {
      const { file_data: data, filename } = part.file
      return urlPart('file', data, `${at}.file.file_data`, { name: filename || undefined })
    }
    case 'input_audio': {
      const { data, format } = part.input_audio
      const path = `${at}.input_audio.data`
      return { part: { part: { case: 'audio', value: mediaFromAudio(data, format, path) } }, path }
    }
  }
}
