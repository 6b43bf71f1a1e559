import { z } from 'zod'
import type { ToolContent, ToolFile } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { FileAttachment } from '#gen/portico/session/v1/session_pb.js'
import type { ContentPiece } from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonOf } from '../kinds.ts'
import { listOrAbsent } from './free.ts'

/**
 * A random marker that no text of a client contains and that never leaves the process. With a hash and a size it looks
 * like base64.
 */
const MARK = crypto.randomUUID().replaceAll('-', '').slice(0, 28)
const PLACE = new RegExp(`${MARK}[0-9a-f]{76}`)

export function toBase64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
}

/** The content of a file as JSON has it: a placeholder if it is transferred separately from its message. */
export function fromContent(source: FileAttachment['source'] | ToolFile['source']): string {
  if (source.case === 'data') return toBase64(source.value)
  if (source.case !== 'blob') return ''
  const { hash, size } = source.value
  return `${MARK}${hash}${size.toString(16).padStart(12, '0')}`
}

/** The text of a JSON list without its brackets; the content of each item follows it in pieces. */
export class ListText {
  #separator = ''
  /** The text after each content that is still to come. */
  #following: string[] = []

  /** The text of an item up to its first content. */
  item(item: object): string {
    this.end()
    const [first = '', ...rest] = JSON.stringify(item).split(PLACE)
    const text = this.#separator + first
    this.#following = rest
    this.#separator = ','
    return text
  }

  /** The text of a piece of content and, for the last piece, the text that follows it. */
  content({ data, last }: Pick<ContentPiece, 'data' | 'last'>): string {
    return last ? toBase64(data) + (this.#following.shift() ?? '') : toBase64(data)
  }

  /** Throws when content is missing. */
  end(): void {
    if (this.#following.length > 0) throw new Error('The content of a file is missing in a stream of messages')
  }
}

/** One piece of what a tool returned. */
export const toolContent = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('file'), uri: z.string(), mime: z.string(), name: z.string().optional() }),
])

/** What a tool returned; undefined when it returned nothing. */
export function fromToolContents(contents: readonly ToolContent[]): JsonOf<typeof toolContent>[] | undefined {
  return listOrAbsent(contents, fromToolContent)
}

function fromToolContent({ content }: ToolContent): JsonOf<typeof toolContent> {
  if (content.case !== 'file') return { type: 'text', text: content.value ?? '' }
  const { source, mime, name } = content.value
  const uri = source.case === 'uri' ? source.value : `data:${mime};base64,${fromContent(source)}`
  return { type: 'file', uri, mime, name }
}
