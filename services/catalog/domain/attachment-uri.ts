/** What the URI of an attachment says. Lines are counted from 1. */
export type AttachmentUri =
  | { readonly type: 'data'; readonly data: Uint8Array }
  | { readonly type: 'file'; readonly url: URL; readonly start: number | undefined; readonly end: number | undefined }

/** A URI that cannot be an attachment; the message says why. */
export class AttachmentUriError extends Error {
  override readonly name = 'AttachmentUriError'
}

/**
 * Reads the URI of an attachment: `data:` with canonical base64 or percent-encoded content of at most `limit` bytes, or
 * `file:` with `?start=&end=`. Throws AttachmentUriError.
 */
export function readAttachmentUri(uri: string, limit: number): AttachmentUri {
  if (/^data:/i.test(uri)) return { type: 'data', data: readData(uri, limit) }
  if (!/^file:/i.test(uri)) throw new AttachmentUriError('only data: and file: are read')
  const url = URL.parse(uri)
  if (url === null) throw new AttachmentUriError('it is no URI')
  const [start, end] = [lineOf(url, 'start'), lineOf(url, 'end')]
  if (start !== undefined && end !== undefined && end < start) throw new AttachmentUriError('end lies before start')
  return { type: 'file', url, start, end }
}

function readData(uri: string, limit: number): Uint8Array {
  const comma = uri.indexOf(',')
  if (comma === -1) throw new AttachmentUriError('a data: URI needs a comma')
  const content = uri.slice(comma + 1)
  const isBase64 = /;\s*base64\s*$/i.test(uri.slice(0, Math.min(comma, 1000)))
  const longest = isBase64 ? Math.ceil(limit / 3) * 4 : limit * 3
  if (content.length > longest) throw new AttachmentUriError(`it has more than ${limit} bytes`)
  const data = isBase64 ? fromBase64(content) : fromPercent(content)
  if (data.length > limit) throw new AttachmentUriError(`it has more than ${limit} bytes`)
  return data
}

// Node reads nearly anything as base64; what does not come out again as it went in is not canonical.
function fromBase64(content: string): Uint8Array {
  const data = Buffer.from(content, 'base64')
  if (data.toString('base64') !== content) throw new AttachmentUriError('its base64 is not canonical')
  return data
}

function fromPercent(content: string): Uint8Array {
  if (/%(?![0-9a-f]{2})/i.test(content)) throw new AttachmentUriError('a percent sign is not followed by two digits')
  const parts = content.split(/((?:%[0-9a-f]{2})+)/i)
  return Buffer.concat(
    parts.map((part, index) => (index % 2 === 1 ? Buffer.from(part.replaceAll('%', ''), 'hex') : Buffer.from(part))),
  )
}

function lineOf(url: URL, name: string): number | undefined {
  const text = url.searchParams.get(name)
  if (text === null || text === '') return undefined
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new AttachmentUriError(`${name} is no line number`)
  return Number(text)
}

/** The lines `start` to `end` of a text, both included; a missing bound is the text's own. */
export function sliceLines(text: string, start = 1, end = Number.POSITIVE_INFINITY): string {
  return text
    .split(/(?<=\n)/)
    .slice(start - 1, end)
    .join('')
}
