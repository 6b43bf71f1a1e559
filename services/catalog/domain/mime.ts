const SIGNATURES: readonly (readonly [mime: string, offset: number, bytes: string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF87a'],
  ['image/gif', 0, 'GIF89a'],
  ['image/webp', 8, 'WEBP'],
  ['image/bmp', 0, 'BM'],
  ['application/pdf', 0, '%PDF-'],
  ['application/zip', 0, 'PK\x03\x04'],
  ['application/gzip', 0, '\x1f\x8b'],
  ['audio/wav', 8, 'WAVE'],
  ['audio/mpeg', 0, 'ID3'],
  ['audio/ogg', 0, 'OggS'],
  ['video/mp4', 4, 'ftyp'],
  ['video/webm', 0, '\x1a\x45\xdf\xa3'],
]

/** Detects a media type from content: a known signature, else text if it is UTF-8 without null characters. */
export function detectMime(data: Uint8Array): string {
  for (const [mime, offset, bytes] of SIGNATURES) {
    if (startsWith(data, offset, bytes) && (mime !== 'image/bmp' || !isText(data))) return mime
  }
  return isText(data) ? 'text/plain' : 'application/octet-stream'
}

/** Whether bytes are UTF-8 without null characters. `partial`: the last character may be incomplete. */
export function isText(data: Uint8Array, partial = false): boolean {
  if (data.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(data, { stream: partial })
    return true
  } catch {
    return false
  }
}

function startsWith(data: Uint8Array, offset: number, bytes: string): boolean {
  if (data.length < offset + bytes.length) return false
  return [...bytes].every((byte, index) => data[offset + index] === byte.charCodeAt(0))
}
