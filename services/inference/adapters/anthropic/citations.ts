import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { wordAt } from '../http/json.ts'

/** What a text rests on: an address, or a document of the request. The citation itself goes on as it came. */
export function cite(writer: PartWriter, part: OpenPart, citation: JsonObject | undefined): void {
  if (citation === undefined || !writer.note(part, 'citations', citation)) return
  const title = wordAt(citation.title) ?? wordAt(citation.document_title)
  const source = { url: wordAt(citation.url), title, start: undefined, end: undefined }
  writer.cite(part, { ...source, citedText: wordAt(citation.cited_text) })
}
