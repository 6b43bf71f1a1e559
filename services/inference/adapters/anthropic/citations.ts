import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { wordAt } from '../http/json.ts'

/** Adds the source of a text: a URL, or a document in the request. The citation itself is passed on unchanged. */
export function cite(writer: PartWriter, part: OpenPart, citation: JsonObject | undefined): void {
  if (citation === undefined || !writer.note(part, 'citations', citation)) return
  const title = wordAt(citation.title) ?? wordAt(citation.document_title)
  writer.cite(part, { url: wordAt(citation.url), title, citedText: wordAt(citation.cited_text) })
}
