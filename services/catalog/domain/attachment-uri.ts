/** Maximum length of a `file:` URI, more than an escaped path of 4 KiB. */
const MAX_FILE_URI = 16_384
const PERCENT = 0x25
const LINE_FEED = 0x0a

/** Larger than any two hexadecimal digits. */
const NO_DIGITS = 256
/** Byte → its value as a hexadecimal digit. */
const DIGITS = new Uint16Array(256).fill(NO_DIGITS)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  DIGITS[digit.charCodeAt(0)] = value
  DIGITS[digit.toUpperCase().charCodeAt(0)] = value
}

/** The content of an attachment's URI. Lines are counted from 1. */
export type AttachmentUri =
  | { readonly type: 'data'; readonly data: Uint8Array }
  | { readonly type: 'file'; readonly url: URL; readonly start: number | undefined; readonly end: number | undefined }

/** A URI that cannot be an attachment; the message says why. */
export class AttachmentUriError extends Error {
  override readonly name = 'AttachmentUriError'
}

/**
 * Parses the URI of an attachment: `data:` with canonical base64 or percent-encoded content of at most `limit` bytes,
 * or `file:` with `?start=&end=`. Throws AttachmentUriError.
 */
export function readAttachmentUri(uri: string, limit: number): AttachmentUri {
  if (/^data:/i.test(uri)) return { type: 'data', data: readData(uri, limit) }
  if (!/^file:/i.test(uri)) throw new AttachmentUriError('only data: and file: are read')
  if (uri.length > MAX_FILE_URI) throw new AttachmentUriError('it is longer than any path')
  const url = URL.parse(uri)
  if (url === null) throw new AttachmentUriError('it is not a URI')
  const start = lineOf(url, 'start')
  const end = lineOf(url, 'end')
  if (start !== undefined && end !== undefined && end < start) throw new AttachmentUriError('end is before start')
  return { type: 'file', url, start, end }
}

function readData(uri: string, limit: number): Uint8Array {
  const comma = uri.indexOf(',')
  if (comma === -1) throw new AttachmentUriError('a data: URI needs a comma')
  const content = uri.slice(comma + 1)
  const isBase64 = /;\s*base64\s*$/i.test(uri.slice(0, Math.min(comma, 1000)))
  const longest = isBase64 ? Math.ceil(limit / 3) * 4 : limit * 3
  if (content.length > longest) throw tooLarge(limit)
  const data = isBase64 ? fromBase64(content) : fromPercent(content, limit)
  if (data.length > limit) throw tooLarge(limit)
  return data
}

// Node accepts almost anything as base64; what is encoded differently afterwards was not canonical.
function fromBase64(content: string): Uint8Array {
  const data = Buffer.from(content, 'base64')
  if (data.toString('base64') !== content) throw new AttachmentUriError('its base64 is not canonical')
  return data
}

// In one pass and in place, since decoded content is never longer: a piece of memory for each escape would take
// seconds.
function fromPercent(content: string, limit: number): Uint8Array {
  const data = Buffer.from(content)
  let length = data.indexOf(PERCENT)
  if (length === -1) return data
  for (let at = length; at < data.length; at++) {
    let byte = data[at]
    if (byte === PERCENT) {
      byte = digit(data[at + 1]) * 16 + digit(data[at + 2])
      if (byte >= NO_DIGITS) throw new AttachmentUriError('a percent sign is not followed by two hexadecimal digits')
      at += 2
    }
    if (length === limit) throw tooLarge(limit)
    data[length++] = byte ?? 0
  }
  return data.subarray(0, length)
}

function digit(byte = 0): number {
  return DIGITS[byte] ?? NO_DIGITS
}

function tooLarge(limit: number): AttachmentUriError {
  return new AttachmentUriError(`it has more than ${limit} bytes`)
}

function lineOf(url: URL, name: string): number | undefined {
  const text = url.searchParams.get(name)
  if (text === null || text === '') return undefined
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new AttachmentUriError(`${name} is not a line number`)
  return Number(text)
}

/** The lines `start` to `end` of a text, both inclusive; a missing bound is the text's own. Copies nothing. */
export function sliceLines(text: Uint8Array, start = 1, end = Number.POSITIVE_INFINITY): Uint8Array {
  const from = skipLines(text, 0, start - 1)
  return text.subarray(from, skipLines(text, from, end - start + 1))
}

/** Where this many lines after `from` end. */
function skipLines(text: Uint8Array, from: number, count: number): number {
  if (count === Number.POSITIVE_INFINITY) return text.length
  let at = from
  for (let left = count; left > 0 && at < text.length; at++) {
    if (text[at] === LINE_FEED) left--
  }
  return at
}
