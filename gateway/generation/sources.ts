import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import type { Source, SourceSchema } from '#gen/portico/inference/v1/inference_pb.js'

/** A source with an address that an answer cites; positions are those of the text, in UTF-16 code units. */
export const urlCitation = {
  url: z.string(),
  title: z.string(),
  start_index: z.int(),
  end_index: z.int(),
  /** The passage of the source. */
  content: z.string().optional(),
}

/** The same in a history, which may lack any of it. */
export const citationInput = {
  title: z.string().nullish(),
  start_index: z.int32().nullish(),
  end_index: z.int32().nullish(),
  content: z.string().nullish(),
}

type CitationInput = z.output<z.ZodObject<typeof citationInput>>

/**
 * A source with an address as the citation of a text from one position to another. If a provider does not name the
 * passage, the source is cited for the whole text.
 */
export function fromSource(
  { url = '', title = '', start = 0, end, citedText }: Source,
  text: { from: number; to: number },
) {
  const range = { start_index: text.from + start, end_index: end === undefined ? text.to : text.from + end }
  return { url, title, ...range, content: citedText || undefined }
}

/** What a citation of a history says about its source. */
export function toSource(cited: CitationInput): Exclude<MessageInitShape<typeof SourceSchema>, Source> {
  const { title, start_index: start, end_index: end, content } = cited
  return {
    title: title ?? undefined,
    start: start ?? undefined,
    end: end ?? undefined,
    citedText: content ?? undefined,
  }
}
