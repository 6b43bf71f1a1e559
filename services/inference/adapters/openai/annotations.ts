import { create } from '@bufbuild/protobuf'
import { type LogProbability, LogProbabilitySchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { listAt, objectAt, textAt, wordAt } from '../http/json.ts'

const FILES: ReadonlySet<unknown> = new Set(['file_citation', 'container_file_citation', 'file_path'])

/** Adds the source of a text: a URL, or a file of the provider. Every annotation is also passed on unchanged. */
export function annotate(writer: PartWriter, part: OpenPart, annotation: JsonObject | undefined): void {
  if (annotation === undefined || !writer.note(part, 'annotations', annotation)) return
  const { type } = annotation
  const cited = objectAt(annotation[String(type)]) ?? annotation
  // A file has only one place.
  const start = placeAt(cited.start_index) ?? placeAt(cited.index)
  const end = placeAt(cited.end_index)
  if (type === 'url_citation') {
    const { url, title } = { url: wordAt(cited.url), title: wordAt(cited.title) }
    writer.cite(part, { url, title, start, end, citedText: wordAt(cited.content) })
  }
  const fileId = wordAt(cited.file_id)
  if (fileId === undefined || !FILES.has(type)) return
  writer.cite(part, { start, end, fileId, fileName: wordAt(cited.filename) })
}

/** The value if it may be a place in a text, else undefined. */
function placeAt(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : undefined
}

/** Log probabilities of tokens, in the format that chat completions and responses share; undefined: there are none. */
export function logProbabilitiesOf(value: unknown): LogProbability[] | undefined {
  const tokens = listAt(value).flatMap((item) => {
    const token = objectAt(item)
    return token === undefined ? [] : [probabilityOf(token, listAt(token.top_logprobs))]
  })
  return tokens.length === 0 ? undefined : tokens
}

/** An almost impossible token has -9999 instead of a number that JSON lacks. */
function probabilityOf(item: Readonly<Record<string, unknown>>, others: readonly unknown[] = []): LogProbability {
  const { token, logprob, bytes } = item
  return create(LogProbabilitySchema, {
    token: textAt(token),
    logProbability: typeof logprob === 'number' && Number.isFinite(logprob) ? logprob : -9999,
    tokenBytes: Array.isArray(bytes) && bytes.length > 0 ? Uint8Array.from(bytes) : undefined,
    alternatives: others.map((other) => probabilityOf(objectAt(other) ?? {})),
  })
}
