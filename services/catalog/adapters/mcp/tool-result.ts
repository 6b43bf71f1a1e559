import type { ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import { detectMime } from '#services/catalog/domain/mime.ts'
import { completed, failed, fileContent, type ToolOutcome, textContent } from '#services/catalog/domain/tool-outcome.ts'
import { MAX_BYTES, OutputWindow } from '#services/catalog/domain/truncate.ts'
import { isFreeObject, isObject, type JsonObject } from '#shared/json.ts'

const MAX_FILES = 20
const MAX_ITEMS = 1_000
const MAX_STRUCTURED = 32 << 10

/**
 * Converts a server's response to a call: texts, of which the beginning and the end are kept if they exceed 50 KiB in
 * total; at most twenty images and files, whose type is determined by their bytes; links as text. A structured result
 * becomes text if there is no other. Undefined: it is not a response to a call.
 */
export function toOutcome(result: unknown): ToolOutcome | undefined {
  if (!isObject(result) || (result.content !== undefined && !Array.isArray(result.content))) return undefined
  const { content: items = [], structuredContent } = result
  const texts: string[] = []
  const files: ToolContent[] = []
  for (const item of items.slice(0, MAX_ITEMS)) {
    const read = readItem(item, files.length)
    if (typeof read === 'string') texts.push(read)
    else if (read !== undefined && files.length < MAX_FILES) files.push(read)
    else texts.push('(a part of the result was left out)')
  }
  const structured = isObject(structuredContent) ? JSON.stringify(structuredContent) : undefined
  if (texts.length === 0 && structured !== undefined) texts.push(structured)
  const window = new OutputWindow(MAX_BYTES)
  window.push(Buffer.from(texts.join('\n')))
  const { text, truncated } = window.text()
  const content: ToolContent[] = [...(text === '' ? [] : [textContent(text)]), ...files]
  if (content.length === 0) content.push(textContent('(no output)'))
  const extra = structured !== undefined && structured.length <= MAX_STRUCTURED ? { structuredContent } : {}
  const metadata: JsonObject = { truncated, ...(isFreeObject(extra) && extra) }
  if (result.isError !== true) return completed(content, metadata)
  return failed('mcp_error', 'The tool reports an error', content, metadata)
}

// Undefined: the item cannot be used.
function readItem(item: unknown, files: number): string | ToolContent | undefined {
  if (!isObject(item)) return undefined
  switch (item.type) {
    case 'text':
      return typeof item.text === 'string' ? item.text : undefined
    case 'image':
    case 'audio':
      return fileOf(item.data, item.mimeType, `${item.type}-${files + 1}`)
    case 'resource_link':
      return [item.name, item.uri, item.description].filter((part) => typeof part === 'string').join(' ')
    case 'resource':
      return isObject(item.resource) ? readResource(item.resource) : undefined
    default:
      return undefined
  }
}

function readResource({
  uri,
  text,
  blob,
  mimeType,
}: Readonly<Record<string, unknown>>): string | ToolContent | undefined {
  if (typeof text === 'string') return typeof uri === 'string' ? `${uri}\n${text}` : text
  return fileOf(blob, mimeType, nameIn(uri))
}

function fileOf(base64: unknown, mimeType: unknown, name: string): ToolContent | undefined {
  if (typeof base64 !== 'string') return undefined
  const data = Buffer.from(base64, 'base64')
  if (data.length === 0) return undefined
  const detected = detectMime(data)
  // Providers refuse an invalid image, together with everything beside it.
  const isUsable = typeof mimeType === 'string' && /^(?!image\/)[\w.+-]+\/[\w.+-]+$/.test(mimeType)
  return fileContent(data, isUsable && !/^image\//.test(detected) ? mimeType : detected, name)
}

function nameIn(uri: unknown): string {
  const path = typeof uri === 'string' ? (URL.parse(uri)?.pathname ?? '') : ''
  return path.split('/').at(-1)?.slice(0, 100) || 'resource'
}

const MAX_MESSAGE = 1_000

/** A failed call, for the model. */
export function failedCall(kind: string, message: string): ToolOutcome {
  return failed(kind, cut(message))
}

/** The message of an error, for people, shortened to a line or two. */
export function messageOf(error: unknown): string {
  return cut(error instanceof Error ? error.message : String(error))
}

function cut(message: string): string {
  return message.slice(0, MAX_MESSAGE).toWellFormed()
}
