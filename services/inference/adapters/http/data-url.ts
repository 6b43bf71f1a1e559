import type { MediaPart } from '#gen/portico/inference/v1/inference_pb.js'

type Media = Pick<MediaPart, 'source' | 'mime'>

/** Content and media type of a base64 `data:` URL; any other URL is kept, with an unknown type. */
export function fromUrl(url: string): Media {
  const [, mime] = /^data:([^;,]*)[^,]*;base64,/i.exec(url.slice(0, 512)) ?? []
  if (mime === undefined) return { source: { case: 'url', value: url } }
  const value = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  return { source: { case: 'data', value }, mime: mime || undefined }
}

/** The same for media, whose own type takes precedence. */
export function inline(media: Media): Media {
  if (media.source.case !== 'url') return media
  const { source, mime } = fromUrl(media.source.value)
  return { source, mime: media.mime || mime }
}

/** Media as a URL: content becomes a `data:` URL, of the type `otherwise` if its own is unknown. */
export function toUrl({ source, mime }: Media, otherwise = 'application/octet-stream'): string {
  if (source.case === 'url') return source.value
  return `data:${mime || otherwise};base64,${base64(source.value ?? new Uint8Array())}`
}

export function base64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}
