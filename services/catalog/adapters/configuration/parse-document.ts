import { type ParseError, parse } from 'jsonc-parser'
import { DocumentError } from '#services/catalog/domain/agent-document.ts'

/** Largest document of the configuration that is read. */
export const MAX_DOCUMENT_BYTES = 1 << 20

/** Parses a document of the configuration: JSON with comments and trailing commas. Throws DocumentError. */
export function parseDocument(text: string): unknown {
  const errors: ParseError[] = []
  const value: unknown = parse(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true })
  if (errors[0] !== undefined) throw new DocumentError(`no JSON at character ${errors[0].offset}`)
  return value
}
