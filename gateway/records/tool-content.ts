import { z } from 'zod'
import type { ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonOf } from '../kinds.ts'
import { listOrAbsent } from './absent.ts'
import { placeFor, toBase64 } from './content.ts'

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
  const { data, mime, name, uri, contentHash } = content.value
  if (uri !== '') return { type: 'file', uri, mime, name }
  const base64 = contentHash === '' ? toBase64(data) : placeFor(contentHash)
  return { type: 'file', uri: `data:${mime};base64,${base64}`, mime, name }
}
