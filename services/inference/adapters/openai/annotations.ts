import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt, wordAt } from '../http/json.ts'

/** What a text rests on. Only addresses are sources; every annotation goes on as it came. */
export function annotate(writer: PartWriter, part: OpenPart, annotation: JsonObject | undefined): void {
  if (annotation === undefined || !writer.note(part, 'annotations', annotation)) return
  if (annotation.type !== 'url_citation') return
  const cited = objectAt(annotation.url_citation) ?? annotation
  const [start, end] = [placeAt(cited.start_index), placeAt(cited.end_index)]
  const { url, title } = { url: wordAt(cited.url), title: wordAt(cited.title) }
  writer.cite(part, { url, title, start, end, citedText: wordAt(cited.content) })
}

function placeAt(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}
