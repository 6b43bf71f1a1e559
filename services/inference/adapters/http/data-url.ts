import type { MediaSource } from '#services/inference/domain/conversation.ts'

/** Content and media type of a base64 `data:` URL; any other URL is kept, with an unknown type. */
export function fromUrl(url: string): { readonly source: MediaSource; readonly mime: string | undefined } {
  const [, mime] = /^data:([^;,]*)[^,]*;base64,/i.exec(url.slice(0, 512)) ?? []
  if (mime === undefined) return { source: { url }, mime: undefined }
  return { source: { data: Buffer.from(url.slice(url.indexOf(',') + 1), 'base64') }, mime: mime || undefined }
}

/** A source as a URL: content becomes a `data:` URL. */
export function toUrl(source: MediaSource, mime: string | undefined): string {
  return 'url' in source ? source.url : `data:${mime || 'application/octet-stream'};base64,${base64(source.data)}`
}

export function base64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}
