import type { MessageInitShape } from '@bufbuild/protobuf'
import type { MediaPartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'

type MediaPart = MessageInitShape<typeof MediaPartSchema>

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Forms of sound, by the name that chat completions have for them. */
export const AUDIO_TYPES = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  ogg: 'audio/ogg',
  aac: 'audio/aac',
  aiff: 'audio/aiff',
  opus: 'audio/opus',
  pcm16: 'audio/l16',
  pcm24: 'audio/l24',
} as const

/**
 * A picture or file that is named by an http(s) address, which only the provider fetches, or lies in a data: URL.
 * Rejects with BODY_INVALID, which names the field.
 */
export function mediaFromUrl(url: string, field: string): MediaPart {
  if (/^https?:\/\//i.test(url)) {
    if (!URL.canParse(url)) throw invalid(field, 'is not a valid URL')
    return { source: { case: 'url', value: url } }
  }
  const comma = url.indexOf(',')
  if (!/^data:/i.test(url) || comma < 0) throw invalid(field, 'must be an http(s) URL or a data: URL')
  const [mime = '', ...parameters] = url.slice(5, comma).split(';')
  const payload = url.slice(comma + 1)
  const encoded = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')
  const data = encoded ? fromBase64(payload, field) : fromPercent(payload, field)
  return { source: { case: 'data', value: data }, mime: mime.trim().toLowerCase() || undefined }
}

/** Sound in base64. Rejects with BODY_INVALID, which names the field. */
export function mediaFromAudio(data: string, format: keyof typeof AUDIO_TYPES, field: string): MediaPart {
  return { source: { case: 'data', value: fromBase64(data, field) }, mime: AUDIO_TYPES[format] }
}

/** Rejects with BODY_INVALID, which names the field. */
export function fromBase64(text: string, field: string): Uint8Array<ArrayBuffer> {
  if (!BASE64.test(text)) throw invalid(field, 'is not valid base64')
  return Buffer.from(text, 'base64')
}

function fromPercent(text: string, field: string): Uint8Array<ArrayBuffer> {
  try {
    return Buffer.from(decodeURIComponent(text))
  } catch {
    throw invalid(field, 'is not percent-encoded')
  }
}

function invalid(field: string, problem: string): Rejection {
  return new Rejection('BODY_INVALID', { field, problem })
}
